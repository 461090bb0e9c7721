"""The forge of a repository: which one it is, where its API is, and the token for it."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from homeostat.external.forges import gitea, github, gitlab
from homeostat.external.forges.pulls.gitea import gitea_pulls
from homeostat.external.forges.pulls.github import github_pulls
from homeostat.external.forges.pulls.gitlab import GitLabPulls
from homeostat.external.forges.pulls.pull import Pulls
from homeostat.external.rest.client import RestClient
from homeostat.operators.images.engine.annotations import DEFAULT_NAMESPACE
from homeostat.operators.images.engine.origin import origin_of
from homeostat.operators.images.engine.rules import ForgeName, PullRules, TokenSecret
from homeostat.operators.images.settings import ImageSettings
from homeostat.operators.images.sources.secrets import SecretName, Secrets

_HOSTS: Final[dict[str, ForgeName]] = {
    "github.com": "github",
    "gitlab.com": "gitlab",
    "gitea.com": "gitea",
    "codeberg.org": "gitea",
}
_PATHS: Final[dict[ForgeName, str]] = {"github": "/api/v3", "gitlab": "/api/v4", "gitea": "/api/v1"}


class UnknownForgeError(Exception):
    """Nothing says which forge has the repository; the text names the annotation."""


class Forges:
    def __init__(self, client: RestClient, settings: ImageSettings) -> None:
        self._client = client
        self._apis: dict[ForgeName, str] = {
            "github": settings.github_api,
            "gitlab": settings.gitlab_api,
            "gitea": settings.gitea_api,
        }

    def api(self, forge: ForgeName, url: str) -> str:
        """The API that is set for this process, else that of the repository's host."""
        if self._apis[forge]:
            return self._apis[forge]
        host, _ = origin_of(url)
        if host == "github.com":
            return github.API
        parts = urlsplit(url) if "://" in url else None
        if parts is not None and parts.scheme in ("http", "https"):
            return f"{parts.scheme}://{parts.netloc}{_PATHS[forge]}"
        return f"https://{host}{_PATHS[forge]}"

    def forge_of(self, url: str, given: ForgeName | str) -> ForgeName:
        if given in _PATHS:
            return given
        host, _ = origin_of(url)
        if host in _HOSTS:
            return _HOSTS[host]
        known = [name for name, api in self._apis.items() if api]
        if len(known) == 1:
            return known[0]
        raise UnknownForgeError(
            f"nothing says which forge {host or 'the repository'} is; set the annotation gitops.operator.forge to "
            "github, gitlab or gitea"
        )

    async def pulls(self, url: str, rules: PullRules, secrets: Secrets) -> Pulls:
        """`UnknownForgeError`, and `MissingSecretError` without a token."""
        forge = self.forge_of(url, rules.forge)
        token, api, (_, path) = await self.token(forge, rules, secrets), self.api(forge, url), origin_of(url)
        if forge == "gitlab":
            return GitLabPulls(gitlab.gitlab_forge(self._client, token, api=api), path)
        repository = repository_of(url)
        if forge == "gitea":
            return gitea_pulls(gitea.gitea_forge(self._client, token, api=api), repository)
        return github_pulls(github.github_forge(self._client, token, api=api), repository)

    async def token(self, forge: ForgeName, rules: PullRules, secrets: Secrets) -> str:
        found = next((each for each in rules.secrets if each.forge in ("", forge)), None)
        if found is None:
            raise UnknownForgeError(
                "pull requests need a token; name its Secret with the annotation "
                "gitops.operator.pull_request_secret_name"
            )
        return await self.token_of(found, secrets)

    async def token_of(self, secret: TokenSecret, secrets: Secrets) -> str:
        return await secrets.text(SecretName(secret.namespace or DEFAULT_NAMESPACE, secret.name), secret.member)


def repository_of(url: str) -> github.Repository:
    _, path = origin_of(url)
    steps = path.split("/")
    if len(steps) < 2:
        raise UnknownForgeError(f"{path!r} is not the path of a repository at a forge; expected owner/name")
    return github.Repository(steps[-2], steps[-1])
