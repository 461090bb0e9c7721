"""GitHub Actions over GitHub's REST API: start a workflow, see how its runs stand, and read what they leave.

Errors say what is known, since starting a workflow twice is worse than not knowing: `UncertainError` means that
something may have been started, and all others that nothing was. Rate limits follow GitHub's rules: `Retry-After`
first, else the time at which the limit is reset, else a minute.
"""

from __future__ import annotations

import io
import time
import zipfile
import zlib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from homeostat.external.exchange import Answer, AnswerLostError, Ask, ExchangeError, Http
from homeostat.objects.json import JsonObject, encode

API = "https://api.github.com"
_VERSION = "2022-11-28"
_SECONDARY_LIMIT_S = 60.0
_LONGEST_LIMIT_S = 3600.0
_LARGEST_ARCHIVE = 8 << 20
_LARGEST_MEMBER = 1 << 20
_PAGE = 100
_MOST_PAGES = 5

T = TypeVar("T")


class GitHubError(Exception):
    reason = "GitHubFailed"


class RefusedError(GitHubError):
    """A clear no: nothing was done."""

    reason = "GitHubRefused"

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class RateLimitedError(GitHubError):
    reason = "RateLimited"

    def __init__(self, message: str, after_s: float) -> None:
        super().__init__(message)
        self.after_s = after_s


class UnreachedError(GitHubError):
    """No request got there."""

    reason = "GitHubUnreachable"


class UncertainError(GitHubError):
    """GitHub failed, or its answer was lost: it may have done what it was asked."""

    reason = "GitHubUnavailable"


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
    run_attempt: int = 1

    @property
    def is_completed(self) -> bool:
        return self.status == "completed"


class WorkflowJob(msgspec.Struct, frozen=True):
    name: str
    status: str | None = None
    conclusion: str | None = None
    started_at: str | None = None
    completed_at: str | None = None


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


class _Told(msgspec.Struct, frozen=True):
    message: str = ""


class GitHub:
    def __init__(
        self,
        http: Http,
        token: str,
        *,
        api: str = API,
        timeout_s: float = 30.0,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        self._http, self._api, self._timeout_s, self._now_s = http, api.rstrip("/"), timeout_s, now_s
        self._headers = {
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": _VERSION,
            "User-Agent": "homeostat",
            **({"Authorization": f"Bearer {token}"} if token else {}),
        }

    async def dispatch(
        self, repository: Repository, workflow: str, ref: str, inputs: Mapping[str, str]
    ) -> Dispatched | None:
        """Starts a run; None where the server, an older one, does not say which."""
        path = f"{repository.path}/actions/workflows/{quote(workflow, safe='')}/dispatches"
        body: JsonObject = {"ref": ref, "inputs": dict(inputs)}
        try:
            answer = await self._ask("POST", path, {**body, "return_run_details": True})
        except RefusedError as error:
            if error.status != 422:
                raise
            # Servers that do not know the option refuse it, and so nothing was started; nor was it for another reason.
            answer = await self._ask("POST", path, body)
        return _read(answer, Dispatched) if answer.status == 200 else None

    async def run(self, repository: Repository, run_id: int) -> WorkflowRun:
        return _read(await self._ask("GET", f"{repository.path}/actions/runs/{run_id}"), WorkflowRun)

    async def dispatched_runs(self, repository: Repository, workflow: str, since: str) -> list[WorkflowRun]:
        """Those that a dispatch started since then, the newest first; of very many not all."""
        found: list[WorkflowRun] = []
        path = f"{repository.path}/actions/workflows/{quote(workflow, safe='')}/runs"
        for page in range(1, _MOST_PAGES + 1):
            asked = {"event": "workflow_dispatch", "created": f">={since}", "per_page": _PAGE, "page": page}
            runs = _read(await self._ask("GET", f"{path}?{urlencode(asked)}"), _Runs).workflow_runs
            found += runs
            if len(runs) < _PAGE:
                break
        return found

    async def jobs(self, repository: Repository, run_id: int) -> tuple[WorkflowJob, ...]:
        path = f"{repository.path}/actions/runs/{run_id}/jobs?per_page={_PAGE}"
        return _read(await self._ask("GET", path), _Jobs).jobs

    async def artifacts(self, repository: Repository, run_id: int) -> tuple[Artifact, ...]:
        path = f"{repository.path}/actions/runs/{run_id}/artifacts?per_page={_PAGE}"
        return _read(await self._ask("GET", path), _Artifacts).artifacts

    async def artifact_json(self, repository: Repository, artifact: Artifact) -> JsonObject:
        """The first JSON file of the archive, which is an object."""
        answer = await self._ask("GET", f"{repository.path}/actions/artifacts/{artifact.id}/zip")
        if answer.status in (301, 302, 307, 308) and "location" in answer.headers:
            # The archive is elsewhere, at an address that is a secret itself: nothing of ours goes there.
            ask = Ask("GET", answer.headers["location"], timeout_s=self._timeout_s, largest=_LARGEST_ARCHIVE)
            answer = await self._sent(ask)
            if not answer.is_success:
                raise UncertainError(f"the archive of the artifact cannot be had: HTTP {answer.status}")
        return _first_json(answer.body, artifact.name)

    async def cancel(self, repository: Repository, run_id: int) -> None:
        """A run that has ended meanwhile is no error."""
        try:
            await self._ask("POST", f"{repository.path}/actions/runs/{run_id}/cancel")
        except RefusedError as error:
            if error.status != 409:
                raise

    async def _ask(self, method: str, path: str, body: JsonObject | None = None) -> Answer:
        data = None if body is None else encode(body)
        headers = self._headers if data is None else {**self._headers, "Content-Type": "application/json"}
        answer = await self._sent(Ask(method, f"{self._api}{path}", headers, data, self._timeout_s))
        if answer.status < 400:
            return answer
        told = f"{method} {path.partition('?')[0]}: HTTP {answer.status}: {_message(answer)}"
        if answer.status >= 500:
            raise UncertainError(told)
        if (after_s := self._limit_s(answer)) is not None:
            raise RateLimitedError(told, after_s)
        raise RefusedError(told, answer.status)

    async def _sent(self, ask: Ask) -> Answer:
        try:
            return await self._http.send(ask)
        except AnswerLostError as error:
            raise UncertainError(str(error)) from error
        except ExchangeError as error:
            raise UnreachedError(str(error)) from error

    def _limit_s(self, answer: Answer) -> float | None:
        """How long to keep away; None where it is no matter of limits."""
        if answer.status not in (403, 429):
            return None
        headers = answer.headers
        if (after := headers.get("retry-after", "")).isdigit():
            return min(max(float(after), 1.0), _LONGEST_LIMIT_S)
        if headers.get("x-ratelimit-remaining") == "0" and headers.get("x-ratelimit-reset", "").isdigit():
            return min(max(float(headers["x-ratelimit-reset"]) - self._now_s(), 1.0), _LONGEST_LIMIT_S)
        is_secondary = answer.status == 429 or b"secondary rate limit" in answer.body.lower()
        return _SECONDARY_LIMIT_S if is_secondary else None


def _read(answer: Answer, shape: type[T]) -> T:
    try:
        return msgspec.json.decode(answer.body, type=shape)
    except msgspec.DecodeError as error:
        raise UncertainError(f"GitHub answered something unexpected: {error}") from error


def _message(answer: Answer) -> str:
    try:
        return msgspec.json.decode(answer.body, type=_Told).message[:300]
    except msgspec.DecodeError:
        return answer.body[:300].decode(errors="replace")


def _first_json(archive: bytes, name: str) -> JsonObject:
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as members:
            for info in members.infolist():
                if info.filename.endswith(".json") and info.file_size <= _LARGEST_MEMBER:
                    with members.open(info) as member:
                        found: Any = msgspec.json.decode(member.read(_LARGEST_MEMBER))
                    if isinstance(found, dict):
                        return found
    except (zipfile.BadZipFile, zlib.error, msgspec.DecodeError, UnicodeDecodeError, NotImplementedError) as error:
        told = f'the artifact "{name}" cannot be read: {type(error).__name__}'
        raise RefusedError(told, 200) from error
    raise RefusedError(
        f'the artifact "{name}" has no JSON file with an object, of at most {_LARGEST_MEMBER} bytes', 200
    )
