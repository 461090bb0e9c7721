"""The status of the build of a commit, from GitHub Actions, GitLab CI, or the statuses of a commit at Gitea."""

from __future__ import annotations

from typing import Final

from homeostat.external.forges import gitea, github, gitlab
from homeostat.external.forges.forge import ForgeError, RateLimitedError, RefusedError
from homeostat.external.rest.client import RestClient
from homeostat.operators.images.batching.memory import Memory
from homeostat.operators.images.engine.annotations import DEFAULT_NAMESPACE, Settings
from homeostat.operators.images.engine.build import Build, Run, build_of
from homeostat.operators.images.engine.origin import origin_of
from homeostat.operators.images.engine.rules import Rules
from homeostat.operators.images.sources.forges import Forges, UnknownForgeError, repository_of
from homeostat.operators.images.sources.secrets import MissingSecretError, SecretName, Secrets, secret_problem
from homeostat.operators.images.sources.statuses import CONTEXT
from homeostat.operators.images.world import Absent, ImageState, Problem

_BUILD_RETRY_S: Final = 60.0
_PIPELINES: Final = {
    "created": "queued",
    "waiting_for_resource": "waiting",
    "preparing": "queued",
    "pending": "pending",
    "scheduled": "waiting",
    "manual": "waiting",
    "running": "in_progress",
}
_STATUSES: Final = {
    "pending": ("in_progress", ""),
    "failure": ("completed", "failure"),
    "error": ("completed", "failure"),
}
_ENDED: Final = {"success": "success", "failed": "failure", "canceled": "cancelled", "skipped": "skipped"}


class Builds:
    """The APIs are those of github.com and gitlab.com where none is given."""

    def __init__(self, client: RestClient, forges: Forges, *, github_api: str, gitlab_api: str) -> None:
        self._client, self._forges = client, forges
        self._github_api, self._gitlab_api = github_api, gitlab_api

    async def state(
        self, settings: Settings, rules: Rules, commit: str, secrets: Secrets, memory: Memory
    ) -> ImageState:
        """What is known of an image that the registry does not have."""
        try:
            if (build := await self._github(settings, commit, secrets, memory)) is None:
                build = await self._gitlab(settings, rules, commit, secrets, memory)
            if build is None:
                build = await self._gitea(settings, rules, commit, secrets, memory)
        except MissingSecretError as error:
            return secret_problem(error)
        except RateLimitedError as error:
            return Problem(f"cannot read the status of the build: {error}", error.reason, error.after_s)
        except ForgeError as error:
            return Problem(f"cannot read the status of the build: {error}", error.reason, _BUILD_RETRY_S)
        return Absent(build)

    def github_repository(self, settings: Settings) -> github.Repository | None:
        """None for a repository that is elsewhere. With an API of its own, a GitHub may have any host."""
        host, path = origin_of(settings.app_repository)
        steps = path.split("/")
        if len(steps) < 2 or (host != "github.com" and not self._github_api):
            return None
        return github.Repository(steps[-2], steps[-1])

    async def github_client(self, settings: Settings, secrets: Secrets) -> github.GitHub | None:
        if not settings.github_token_secret_name:
            return None
        namespace = settings.github_token_secret_namespace or DEFAULT_NAMESPACE
        token = await secrets.text(SecretName(namespace, settings.github_token_secret_name), "github-token")
        return github.GitHub(self._client, token, api=self._github_api or github.API)

    async def _github(self, settings: Settings, commit: str, secrets: Secrets, memory: Memory) -> Build | None:
        repository = self.github_repository(settings)
        client = await self.github_client(settings, secrets) if repository is not None else None
        if client is None or repository is None:
            return None
        found, forge = repository, client
        # What one token may read, another may not; and two hosts may have repositories of one path.
        token = (settings.github_token_secret_namespace, settings.github_token_secret_name)
        key = ("github", settings.app_repository, token, commit)
        return await memory.once(key, lambda: _github_build(forge, found, commit))

    async def _gitlab(
        self, settings: Settings, rules: Rules, commit: str, secrets: Secrets, memory: Memory
    ) -> Build | None:
        host, path = origin_of(settings.app_repository)
        if not rules.gitlab_token_secret_name or not path or (host != "gitlab.com" and not self._gitlab_api):
            return None
        name = SecretName(rules.gitlab_token_secret_namespace or DEFAULT_NAMESPACE, rules.gitlab_token_secret_name)
        token = await secrets.text(name, "gitlab-token")
        client = gitlab.GitLab(self._client, token, path, api=self._gitlab_api or gitlab.API)
        return await memory.once(
            ("gitlab", settings.app_repository, name, commit), lambda: _gitlab_build(client, commit)
        )

    async def _gitea(
        self, settings: Settings, rules: Rules, commit: str, secrets: Secrets, memory: Memory
    ) -> Build | None:
        if not rules.gitea_token_secret_name:
            return None
        name = SecretName(rules.gitea_token_secret_namespace or DEFAULT_NAMESPACE, rules.gitea_token_secret_name)
        token, url = await secrets.text(name, "gitea-token"), settings.app_repository
        try:
            repository = repository_of(url)
        except UnknownForgeError:
            return None
        forge = gitea.gitea_forge(self._client, token, api=self._forges.api("gitea", url))
        client = gitea.Gitea(forge, repository)
        return await memory.once(("gitea", url, name, commit), lambda: _gitea_build(client, commit))


async def _github_build(client: github.GitHub, repository: github.Repository, commit: str) -> Build:
    try:
        runs = await client.runs_of_commit(repository, commit)
    except RefusedError:
        # The token may not read the runs, or there are none: nothing is known of a build.
        return Build.NOT_FOUND
    return build_of(Run(each.status or "", each.conclusion or "") for each in runs)


async def _gitlab_build(client: gitlab.GitLab, commit: str) -> Build:
    try:
        pipelines = await client.pipelines_of_commit(commit)
    except RefusedError:
        return Build.NOT_FOUND
    return build_of(Run(_PIPELINES.get(each.status, "completed"), _ENDED.get(each.status, "")) for each in pipelines)


async def _gitea_build(client: gitea.Gitea, commit: str) -> Build:
    try:
        statuses = await client.statuses(commit)
    except RefusedError:
        return Build.NOT_FOUND
    # Our own status says nothing of a build.
    found = [each.status for each in statuses if each.context != CONTEXT]
    return build_of(Run(*_STATUSES.get(each, ("completed", "success"))) for each in found)
