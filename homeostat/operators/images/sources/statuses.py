"""Statuses on commits of applications, at the forge whose token an annotation names.

A status says where the commit's image is: on the manifests' branch, or in a pull request. The newest one of a context
counts, so setting the same one twice does no harm.
"""

from __future__ import annotations

import hashlib
from typing import Final, Literal

import msgspec

from homeostat.external.forges import gitea, github, gitlab
from homeostat.external.rest.client import RestClient
from homeostat.operators.images.engine.annotations import Tracked
from homeostat.operators.images.engine.origin import origin_of
from homeostat.operators.images.engine.rules import ForgeName, RulesError, rules_of
from homeostat.operators.images.sources.forges import Forges, repository_of
from homeostat.operators.images.sources.secrets import Secrets

CONTEXT: Final = "homeostat/images"
_FAILED: Final = {"failure": "failed"}
"""GitLab's words."""


class CommitState(msgspec.Struct, frozen=True, kw_only=True):
    commit: str
    state: Literal["success", "pending", "failure"]
    description: str
    target: str = ""

    @property
    def identity(self) -> str:
        return hashlib.sha256(f"{self.commit} {self.state} {self.target}".encode()).hexdigest()[:16]


class CommitStatuses:
    def __init__(self, client: RestClient, forges: Forges) -> None:
        self._client, self._forges = client, forges

    async def set(self, tracked: Tracked, status: CommitState, secrets: Secrets) -> None:
        forge = _forge(tracked)
        if forge is None:
            return
        url, rules = tracked.settings.app_repository, rules_of(tracked.annotations).pull_rules
        secret = next(each for each in rules.secrets if each.forge == forge)
        token = await self._forges.token_of(secret, secrets)
        api = self._forges.api(forge, url)
        given = {"context": CONTEXT, "description": status.description, "target": status.target}
        if forge == "gitlab":
            state = _FAILED.get(status.state, status.state)
            project = origin_of(url)[1]
            await gitlab.GitLab(self._client, token, project, api=api).set_status(status.commit, state=state, **given)
            return
        repository = repository_of(url)
        if forge == "gitea":
            client = gitea.Gitea(gitea.gitea_forge(self._client, token, api=api), repository)
            await client.set_status(status.commit, state=status.state, **given)
            return
        hub = github.GitHub(self._client, token, api=api)
        await hub.set_status(repository, status.commit, state=status.state, **given)


def wants_status(tracked: Tracked) -> bool:
    return _forge(tracked) is not None


def _forge(tracked: Tracked) -> ForgeName | None:
    """That whose token an annotation names, where a status is wanted."""
    try:
        rules = rules_of(tracked.annotations)
    except RulesError:
        return None
    found = next((each.forge for each in rules.pull_rules.secrets if each.forge), None)
    return found or None if rules.sets_commit_status else None
