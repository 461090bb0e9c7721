"""GitHub Actions over GitHub's REST API: start a workflow, read the status of its runs, and download artifacts.

Errors are those of `forge.py`. Rate limits follow GitHub's rules: `Retry-After` first, else the time at which the limit
is reset, else a minute.
"""

from __future__ import annotations

import asyncio
import io
import time
import zipfile
import zlib
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from homeostat.external.forges.forge import Forge, RefusedError, limit_s, read
from homeostat.external.rest.client import RestClient
from homeostat.external.rest.request import Response
from homeostat.objects.json import JsonObject

API = "https://api.github.com"
_VERSION = "2022-11-28"
_SECONDARY_LIMIT_S = 60.0
_LARGEST_ARCHIVE = 8 << 20
_LARGEST_MEMBER = 1 << 20
_MOST_MEMBERS = 1000
_MOST_READ = 20
_PAGE = 100
_MOST_PAGES = 5
_LONGEST_DESCRIPTION = 140


class Repository(msgspec.Struct, frozen=True):
    owner: str
    name: str

    @property
    def path(self) -> str:
        return f"/repos/{quote(self.owner, safe='')}/{quote(self.name, safe='')}"


class Dispatched(msgspec.Struct, frozen=True):
    workflow_run_id: int
    html_url: str = ""


class WorkflowRun(msgspec.Struct, frozen=True):
    id: int
    name: str | None = ""
    display_title: str = ""
    status: str | None = None
    conclusion: str | None = None
    html_url: str = ""
    created_at: str = ""

    @property
    def is_completed(self) -> bool:
        return self.status == "completed"


class WorkflowJob(msgspec.Struct, frozen=True):
    name: str
    status: str | None = None
    conclusion: str | None = None
    started_at: str | None = None


class Artifact(msgspec.Struct, frozen=True):
    id: int
    name: str
    size_in_bytes: int = 0
    archive_download_url: str = ""
    expired: bool = False


class _Runs(msgspec.Struct, frozen=True):
    workflow_runs: tuple[WorkflowRun, ...] = ()


class _Jobs(msgspec.Struct, frozen=True):
    jobs: tuple[WorkflowJob, ...] = ()


class _Artifacts(msgspec.Struct, frozen=True):
    artifacts: tuple[Artifact, ...] = ()


def github_forge(
    http: RestClient, token: str, *, api: str = API, timeout_s: float = 30.0, now_s: Callable[[], float] = time.time
) -> Forge:
    headers = {
        "Accept": "application/vnd.github+json",
        "X-GitHub-Api-Version": _VERSION,
        **({"Authorization": f"Bearer {token}"} if token else {}),
    }
    return Forge(http, api, headers, limit_s=lambda answer: _limit_s(answer, now_s()), timeout_s=timeout_s)


class GitHub:
    def __init__(
        self,
        http: RestClient,
        token: str,
        *,
        api: str = API,
        timeout_s: float = 30.0,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        self._forge = github_forge(http, token, api=api, timeout_s=timeout_s, now_s=now_s)

    async def dispatch(
        self, repository: Repository, workflow: str, ref: str, inputs: Mapping[str, str]
    ) -> Dispatched | None:
        """Starts a run; None if an older server does not return which."""
        path = f"{repository.path}/actions/workflows/{quote(workflow, safe='')}/dispatches"
        body: JsonObject = {"ref": ref, "inputs": dict(inputs)}
        try:
            answer = await self._forge.ask("POST", path, {**body, "return_run_details": True})
        except RefusedError as error:
            if error.status != 422:
                raise
            # Older servers refuse the unknown option. In any case of 422, nothing was started.
            answer = await self._forge.ask("POST", path, body)
        return read(answer, Dispatched) if answer.status == 200 else None

    async def run(self, repository: Repository, run_id: int) -> WorkflowRun:
        return read(await self._forge.ask("GET", f"{repository.path}/actions/runs/{run_id}"), WorkflowRun)

    async def dispatched_runs(self, repository: Repository, workflow: str, since: str) -> list[WorkflowRun]:
        """The runs that a dispatch started since then, newest first; only the newest of very many."""
        found: list[WorkflowRun] = []
        path = f"{repository.path}/actions/workflows/{quote(workflow, safe='')}/runs"
        for page in range(1, _MOST_PAGES + 1):
            asked = {"event": "workflow_dispatch", "created": f">={since}", "per_page": _PAGE, "page": page}
            runs = read(await self._forge.ask("GET", f"{path}?{urlencode(asked)}"), _Runs).workflow_runs
            found += runs
            if len(runs) < _PAGE:
                break
        return found

    async def runs_of_commit(self, repository: Repository, commit: str) -> tuple[WorkflowRun, ...]:
        """The newest runs for a commit, given by its whole id."""
        asked = urlencode({"head_sha": commit, "per_page": _PAGE})
        answer = await self._forge.ask("GET", f"{repository.path}/actions/runs?{asked}")
        return read(answer, _Runs).workflow_runs

    async def set_status(
        self, repository: Repository, commit: str, *, state: str, context: str, description: str = "", target: str = ""
    ) -> None:
        """Sets a status on a commit: `state` is success, failure, error or pending. The newest of a context counts."""
        body: JsonObject = {"state": state, "context": context, "description": description[:_LONGEST_DESCRIPTION]}
        if target:
            body["target_url"] = target
        await self._forge.ask("POST", f"{repository.path}/statuses/{quote(commit, safe='')}", body)

    async def jobs(self, repository: Repository, run_id: int) -> tuple[WorkflowJob, ...]:
        path = f"{repository.path}/actions/runs/{run_id}/jobs?per_page={_PAGE}"
        return read(await self._forge.ask("GET", path), _Jobs).jobs

    async def artifacts(self, repository: Repository, run_id: int) -> tuple[Artifact, ...]:
        path = f"{repository.path}/actions/runs/{run_id}/artifacts?per_page={_PAGE}"
        return read(await self._forge.ask("GET", path), _Artifacts).artifacts

    async def artifact_json(self, repository: Repository, artifact: Artifact) -> JsonObject:
        """The first JSON file of the archive that holds an object."""
        path = f"{repository.path}/actions/artifacts/{artifact.id}/zip"
        archive = await self._forge.download(path, largest=_LARGEST_ARCHIVE)
        return await asyncio.to_thread(_first_json, archive, artifact.name)

    async def cancel(self, repository: Repository, run_id: int) -> None:
        """A run that has ended meanwhile is not an error."""
        try:
            await self._forge.ask("POST", f"{repository.path}/actions/runs/{run_id}/cancel")
        except RefusedError as error:
            if error.status != 409:
                raise


def _limit_s(answer: Response, now_s: float) -> float | None:
    if answer.status not in (403, 429):
        return None
    # Each response says when the limit is reset, also a refusal for another reason.
    is_used_up = answer.headers.get("x-ratelimit-remaining") == "0"
    if (found := limit_s(answer, now_s, reset="x-ratelimit-reset" if is_used_up else "")) is not None:
        return found
    is_secondary = answer.status == 429 or b"secondary rate limit" in answer.body.lower()
    return _SECONDARY_LIMIT_S if is_secondary else None


def _first_json(archive: bytes, name: str) -> JsonObject:
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as members:
            if len(members.infolist()) > _MOST_MEMBERS:
                raise RefusedError(f'the artifact "{name}" has more than {_MOST_MEMBERS} files', 200)
            files = (each for each in members.infolist() if each.filename.endswith(".json"))
            for info in islice((each for each in files if each.file_size <= _LARGEST_MEMBER), _MOST_READ):
                with members.open(info) as member:
                    found: Any = msgspec.json.decode(member.read(_LARGEST_MEMBER))
                if isinstance(found, dict):
                    return found
    except (zipfile.BadZipFile, zlib.error, msgspec.DecodeError, ValueError, EOFError, RuntimeError) as error:
        text = f'the artifact "{name}" cannot be read: {type(error).__name__}'
        raise RefusedError(text, 200) from error
    raise RefusedError(
        f'the artifact "{name}" has no JSON object of at most {_LARGEST_MEMBER} bytes among its first {_MOST_READ} '
        "JSON files",
        200,
    )
