"""What plugins that start runs of another system share: inputs, credentials, timeouts, lost runs and outputs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

from homeostat.external.forges.forge import (
    ForgeError,
    RateLimitedError,
    RefusedError,
    UnknownOutcomeError,
    UnreachedError,
)
from homeostat.external.secrets.secrets import SecretText
from homeostat.objects.decision import Wait
from homeostat.objects.json import Json, JsonObject, encode
from homeostat.objects.time.timestamp import format_time
from homeostat.operators.actions.plugins.plugin import ActionError, Job
from homeostat.operators.actions.plugins.template import TemplateError, fill
from homeostat.operators.actions.runs.run import Changes, Outcome
from homeostat.operators.actions.world import Lost, Plan, Underway

T = TypeVar("T")

CANCEL_WITHIN_S: Final = 600.0
"""How long a cancelled run may take to stop."""
_SHOWS_WITHIN_S = 60.0
_BREAK_S = 30.0
_SKEW_S = 5.0
_TROUBLE_S = 30.0


class MissingRuns:
    """Runs that are searched for by ticket. A run is lost only after this process has searched for it for a while
    without a break: a run appears some time after it was started, possibly by another process a moment ago.
    """

    def __init__(self) -> None:
        self._searched: dict[str, tuple[datetime, datetime]] = {}

    def note_missing(self, job: Job[Any], poll_s: float) -> Underway | Lost:
        first, last = self._searched.get(job.ticket, (job.now, job.now))
        if job.now - last > timedelta(seconds=_BREAK_S):
            first = job.now
        if job.now - first >= timedelta(seconds=_SHOWS_WITHIN_S):
            self.forget(job.ticket)
            return Lost(is_restartable=True)
        self._searched[job.ticket] = (first, job.now)
        return Underway(None, min(poll_s, _BREAK_S / 3))

    def forget(self, ticket: str) -> None:
        self._searched.pop(ticket, None)


class RunOwners:
    """The tickets of known runs, so that no job takes over the run of another."""

    def __init__(self, most: int = 10_000) -> None:
        self._tickets: dict[int, str] = {}
        self._most = most

    def claim(self, run_id: int, ticket: str) -> None:
        if len(self._tickets) >= self._most:
            del self._tickets[next(iter(self._tickets))]
        self._tickets[run_id] = ticket

    def is_owned_by_another(self, run_id: int, ticket: str) -> bool:
        return self._tickets.get(run_id, ticket) != ticket


def started_since(job: Job[Any]) -> str:
    """The earliest time, by the clock of the other system, at which the job's run can have started."""
    assert job.began is not None
    return format_time(job.began - timedelta(seconds=_SKEW_S))


def overdue_s(job: Job[Any], timeout_s: float) -> float:
    """Returns how much longer than allowed the run has taken; negative before its timeout."""
    assert job.began is not None
    return (job.now - job.began).total_seconds() - timeout_s


def later(error: ForgeError) -> Wait:
    after_s = error.after_s if isinstance(error, RateLimitedError) else _TROUBLE_S
    return Wait(error.reason, timedelta(seconds=after_s), message=str(error))


async def started(start: Awaitable[T], underway: Callable[[T], Underway], *, poll_s: float) -> Underway | Outcome:
    """Awaits the start of a run: it is in progress, it was refused, or `follow` has to search for it."""
    try:
        found = await start
    except (RateLimitedError, UnreachedError) as error:
        raise later(error) from error
    except RefusedError as error:
        return Outcome(is_success=False, reason=error.reason, message=str(error))
    except UnknownOutcomeError:
        return Underway(None, poll_s)
    return underway(found)


async def followed(observation: Awaitable[Underway | Outcome | Lost], *, late_s: float) -> Underway | Outcome | Lost:
    try:
        return await observation
    except (RateLimitedError, UnreachedError, UnknownOutcomeError) as error:
        raise later(error) from error
    except RefusedError as error:
        # With an expired token, the state of the run is unknown.
        if error.status in (401, 403) and late_s < CANCEL_WITHIN_S:
            raise later(error) from error
        return Outcome(is_success=False, reason=error.reason, message=str(error))


def plan_of_remote(job: Job[Any], *, has_plan: bool, option: str) -> Plan:
    """`option` is the field of the configuration that enables runs of a plan."""
    if not job.is_applied:
        return Plan(True, Changes(updated=1), "not applied yet")
    if has_plan:
        return Plan(None)
    return Plan(False, output=f"{option} is not set; drift is not checked", is_assumed=True)


async def unfinished(
    job: Job[Any], cancel: Callable[[], Awaitable[object]], *, late_s: float, poll_s: float, url: str
) -> Underway | Outcome:
    """Reports a run that has not ended. After its timeout the run is cancelled, so that no retry runs beside it."""
    if late_s >= 0:
        await cancel()
    if late_s < CANCEL_WITHIN_S:
        return Underway(job.handle, poll_s)
    message = "the run timed out and did not stop after it was cancelled"
    return Outcome(is_success=False, reason="RunTimedOut", message=message, url=url)


async def reveal_token(job: Job[Any], own: SecretText | None, usual: str, *, api_url: str) -> str:
    """The configured token, or the one of the operator. The latter is sent only to the operator's own `api_url`."""
    if api_url and not own and "apiUrl" not in job.operator_fields:
        message = "a URL other than the operator's requires its own token"
        raise ActionError("InvalidConfig", f"action.config.apiUrl: {message}")
    token = await job.secrets.reveal(own) if own else usual
    job.secrets.hide(token)
    return token


def filled(job: Job[Any], template: JsonObject, field: str) -> JsonObject:
    """Fills in the values of the resource; `field` names the template in errors."""
    values = {"name": job.name, "namespace": job.namespace, "uid": job.uid, "spec": job.spec, "outputs": job.outputs}
    try:
        found: JsonObject = fill(template, values)
    except TemplateError as error:
        raise ActionError("InvalidConfig", f"action.config.{field}: {error}") from error
    return found


def as_texts(values: JsonObject) -> dict[str, str]:
    """Inputs and variables are strings: other values are sent as JSON."""
    return {name: each if isinstance(each, str) else encode(each).decode() for name, each in values.items()}


def bare_outputs(raw: JsonObject) -> JsonObject:
    """Unwraps values that Terraform has printed as `{value, type, sensitive}`, without the sensitive ones."""
    return {
        name: each["value"] if _is_wrapped(each) else each
        for name, each in raw.items()
        if not (_is_wrapped(each) and each.get("sensitive"))
    }


def _is_wrapped(value: Json) -> bool:
    return isinstance(value, dict) and "value" in value and value.keys() <= {"value", "type", "sensitive"}
