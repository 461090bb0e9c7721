"""Proposals without a plane: each by a process of its own, which knows what the repository and the forge say."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast

import msgspec

from homeostat.client.base import Client
from homeostat.external.git.access import Remote
from homeostat.external.git.cache import GitCache
from homeostat.external.rest.client import RestClient
from homeostat.external.rest.settings import RestSettings
from homeostat.external.secrets.kubernetes import StoredSecret
from homeostat.operators.images.batching.group import group_of
from homeostat.operators.images.batching.memory import Memory
from homeostat.operators.images.decide import Due
from homeostat.operators.images.engine.annotations import Settings, Tracked
from homeostat.operators.images.engine.manifest import Change, Target
from homeostat.operators.images.engine.rules import rules_of
from homeostat.operators.images.pulls.batch import Batch, branch_of
from homeostat.operators.images.pulls.propose import Proposer
from homeostat.operators.images.settings import ImageSettings
from homeostat.operators.images.sources.forges import Forges
from homeostat.operators.images.sources.secrets import SecretName, Secrets
from homeostat.operators.images.status import Outcome
from homeostat.operators.images.world import Record
from tests.external.fake_pulls import TOKEN, Dialect
from tests.operators.images.scenarios import OLD

_SECRET = SecretName("shop", "forge")
_ANNOTATIONS = {
    "gitops.operator.delivery": "pull-request",
    "gitops.operator.pull_request_secret_name": _SECRET.name,
    "gitops.operator.pull_request_secret_namespace": _SECRET.namespace,
}


class Proposals:
    def __init__(
        self,
        dialect: Dialect,
        remote: Remote,
        api: str,
        folder: Path,
        *,
        token: str = TOKEN,
        labels: tuple[str, ...] = (),
    ) -> None:
        self._dialect, self._remote, self._api, self._folder = dialect, remote, api, folder
        self._token, self._labels = token, labels

    def due(self, name: str, tag: str, old: str = OLD) -> Due:
        settings = Settings(
            enabled=True,
            namespace="shop",
            app_repository="none",
            manifest_repository=self._remote.url,
            image_name="org/app",
            deployment_path=f"{name}.yaml",
            ssh_key_name="key",
            ssh_key_namespace="shop",
        )
        return Due(
            tracked=Tracked(name, settings, "org/app", old, _ANNOTATIONS),
            rules=rules_of(_ANNOTATIONS),
            path=f"{name}.yaml",
            target=Target("org/app", tag),
            commit="",
            seen=(old,),
            changes=(Change(9, "org/app", old, tag),),
        )

    @property
    def branch(self) -> str:
        settings = self.due("web", "x").tracked.settings
        return branch_of(group_of(settings), rules_of(_ANNOTATIONS).pull_rules)

    async def propose(self, *updates: Due, unknown: frozenset[str] = frozenset()) -> Mapping[str, Outcome]:
        settings = msgspec.structs.replace(ImageSettings(), **{f"{self._dialect}_api": self._api})
        memory = Memory()

        async def read() -> StoredSecret:
            return StoredSecret({"token": self._token.encode()}, {})

        await memory.once(("secret", _SECRET), read)
        secrets = Secrets(cast("Client", None), memory)
        rules = rules_of(_ANNOTATIONS).pull_rules
        batch = Batch(
            repository=self._remote.url,
            base="master",
            branch=self.branch,
            rules=rules,
            updates=updates,
            unknown=unknown,
            is_awaited=bool(unknown),
            labels=self._labels,
        )
        async with (
            RestClient(RestSettings(breaker=None)) as rest,
            GitCache(self._folder, rest=rest).open(self._remote) as repository,
        ):
            proposer = Proposer(Forges(rest, settings), settings, lambda *_: None)
            records = {each.tracked.key: Record() for each in updates}
            return (await proposer.propose(repository, batch, records, secrets)).outcomes
