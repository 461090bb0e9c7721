"""GitLab CI over GitLab's REST API: start a pipeline, read its status, and download the artifacts of its jobs.

Errors are those of `forge.py`. A pipeline's variables can be read back, so a pipeline is identified by a variable that
it was started with.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from urllib.parse import quote, urlencode

import msgspec

from homeostat.external.forges.forge import Forge, RefusedError, limit_s, read
from homeostat.external.rest.client import RestClient
from homeostat.external.rest.request import Response
from homeostat.objects.errors import BadRequestError
from homeostat.objects.json import JsonObject, decode_object

API = "https://gitlab.com/api/v4"
_ENDED = frozenset({"success", "failed", "canceled", "skipped"})
_LIMIT_S = 60.0
_LARGEST_FILE = 1 << 20
_PAGE = 100
_LONGEST_DESCRIPTION = 255
_SAME_STATE = "cannot transition status"
"""GitLab refuses the state that a status has already, and says so in words only, as 400."""


class Pipeline(msgspec.Struct, frozen=True):
    id: int
    status: str = ""
    web_url: str = ""
    created_at: str = ""

    @property
    def is_ended(self) -> bool:
        return self.status in _ENDED


class ArtifactsFile(msgspec.Struct, frozen=True):
    filename: str = ""
    size: int = 0


class PipelineJob(msgspec.Struct, frozen=True):
    id: int
    name: str
    status: str = ""
    started_at: str | None = None
    finished_at: str | None = None
    artifacts_file: ArtifactsFile | None = None


class Variable(msgspec.Struct, frozen=True):
    key: str
    value: str = ""


def gitlab_forge(
    http: RestClient, token: str, *, api: str = API, timeout_s: float = 30.0, now_s: Callable[[], float] = time.time
) -> Forge:
    headers = {"PRIVATE-TOKEN": token} if token else {}
    return Forge(http, api, headers, limit_s=lambda answer: _limit_s(answer, now_s()), timeout_s=timeout_s)


class GitLab:
    """`project` is an id, or a path such as `acme/infrastructure`."""

    def __init__(
        self,
        http: RestClient,
        token: str,
        project: str,
        *,
        api: str = API,
        timeout_s: float = 30.0,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        self._forge = gitlab_forge(http, token, api=api, timeout_s=timeout_s, now_s=now_s)
        self._project = f"/projects/{quote(project, safe='')}"

    async def start(self, ref: str, variables: Mapping[str, str]) -> Pipeline:
        listed = [{"key": key, "value": value} for key, value in variables.items()]
        body: JsonObject = {"ref": ref, "variables": listed}
        return read(await self._forge.ask("POST", f"{self._project}/pipeline", body), Pipeline)

    async def pipeline(self, pipeline_id: int) -> Pipeline:
        return read(await self._forge.ask("GET", f"{self._project}/pipelines/{pipeline_id}"), Pipeline)

    async def started_pipelines(self, ref: str, since: str) -> list[Pipeline]:
        """The pipelines that the API started and that have changed since then, newest first."""
        asked = {"ref": ref, "source": "api", "updated_after": since, "order_by": "id", "per_page": _PAGE}
        answer = await self._forge.ask("GET", f"{self._project}/pipelines?{urlencode(asked)}")
        return read(answer, list[Pipeline])

    async def pipelines_of_commit(self, commit: str) -> list[Pipeline]:
        """The newest pipelines for a commit, given by its whole id."""
        asked = {"sha": commit, "order_by": "id", "per_page": _PAGE}
        return read(await self._forge.ask("GET", f"{self._project}/pipelines?{urlencode(asked)}"), list[Pipeline])

    async def set_status(
        self, commit: str, *, state: str, context: str, description: str = "", target: str = ""
    ) -> None:
        """Sets a status on a commit: `state` is pending, running, success, failed or canceled."""
        body: JsonObject = {"state": state, "name": context, "description": description[:_LONGEST_DESCRIPTION]}
        if target:
            body["target_url"] = target
        try:
            await self._forge.ask("POST", f"{self._project}/statuses/{quote(commit, safe='')}", body)
        except RefusedError as error:
            if error.status != 400 or _SAME_STATE not in error.message.lower():
                raise

    async def variables(self, pipeline_id: int) -> dict[str, str]:
        answer = await self._forge.ask("GET", f"{self._project}/pipelines/{pipeline_id}/variables")
        return {each.key: each.value for each in read(answer, list[Variable])}

    async def jobs(self, pipeline_id: int) -> list[PipelineJob]:
        path = f"{self._project}/pipelines/{pipeline_id}/jobs?per_page={_PAGE}"
        return read(await self._forge.ask("GET", path), list[PipelineJob])

    async def artifact_json(self, job: PipelineJob, name: str) -> JsonObject | None:
        """A JSON object in a file among the artifacts of a job; None if there is no such file."""
        try:
            path = f"{self._project}/jobs/{job.id}/artifacts/{quote(name)}"
            found = await self._forge.download(path, largest=_LARGEST_FILE)
        except RefusedError as error:
            if error.status == 404:
                return None
            raise
        try:
            return decode_object(found)
        except BadRequestError as error:
            raise RefusedError(f'the artifact "{name}" of the job "{job.name}": {error}', 200) from error

    async def cancel(self, pipeline_id: int) -> None:
        await self._forge.ask("POST", f"{self._project}/pipelines/{pipeline_id}/cancel")


def _limit_s(answer: Response, now_s: float) -> float | None:
    if answer.status != 429:
        return None
    found = limit_s(answer, now_s, reset="ratelimit-reset")
    return _LIMIT_S if found is None else found
