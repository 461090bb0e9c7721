"""Going after a run of another system: when it is late, when it is lost, and what it leaves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

from homeostat.external.forges.forge import (
    ForgeError,
    RateLimitedError,
    RefusedError,
    UncertainError,
    UnreachedError,
)
from homeostat.objects.decision import Wait
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.time.timestamp import format_time
from homeostat.operators.actions.plugins.plugin import Job
from homeostat.operators.actions.runs.run import Outcome
from homeostat.operators.actions.world import Lost, Underway

T = TypeVar("T")

CANCEL_WITHIN_S: Final = 600.0
"""How long a run that has taken too long may take to be cancelled."""
_SHOWS_WITHIN_S = 60.0
_BREAK_S = 30.0
_SKEW_S = 5.0
_TROUBLE_S = 30.0


class Sought:
    """Runs that are looked for by their tickets. One is lost only once this process has looked for it for a while,
    without a break: a run shows a little after it was started, and who started it may have died the moment before.
    """

    def __init__(self) -> None:
        self._looks: dict[str, tuple[datetime, datetime]] = {}

    def in_vain(self, job: Job[Any], poll_s: float) -> Underway | Lost:
        first, last = self._looks.get(job.ticket, (job.now, job.now))
        if job.now - last > timedelta(seconds=_BREAK_S):
            first = job.now
        if job.now - first >= timedelta(seconds=_SHOWS_WITHIN_S):
            self.forget(job.ticket)
            return Lost(is_restartable=True)
        self._looks[job.ticket] = (first, job.now)
        return Underway(None, min(poll_s, _BREAK_S / 3))

    def forget(self, ticket: str) -> None:
        self._looks.pop(ticket, None)


class Claims:
    """Which runs are known to be whose, so that nobody takes another's for its own."""

    def __init__(self, most: int = 10_000) -> None:
        self._tickets: dict[int, str] = {}
        self._most = most

    def claim(self, run_id: int, ticket: str) -> None:
        if len(self._tickets) >= self._most:
            del self._tickets[next(iter(self._tickets))]
        self._tickets[run_id] = ticket

    def is_anothers(self, run_id: int, ticket: str) -> bool:
        return self._tickets.get(run_id, ticket) != ticket


def sought_since(job: Job[Any]) -> str:
    """From when on a run may be the job's, by the other side's clock."""
    assert job.began is not None
    return format_time(job.began - timedelta(seconds=_SKEW_S))


def late_s(job: Job[Any], timeout_s: float) -> float:
    """How much longer than allowed it has taken; negative while it may go on."""
    assert job.began is not None
    return (job.now - job.began).total_seconds() - timeout_s


def later(error: ForgeError) -> Wait:
    after_s = error.after_s if isinstance(error, RateLimitedError) else _TROUBLE_S
    return Wait(error.reason, timedelta(seconds=after_s), message=str(error))


async def started(start: Awaitable[T], underway: Callable[[T], Underway], *, poll_s: float) -> Underway | Outcome:
    """What is known once a run was to be started: where it is, that it was refused, or that it is to be looked for."""
    try:
        found = await start
    except (RateLimitedError, UnreachedError) as error:
        raise later(error) from error
    except RefusedError as error:
        return Outcome(is_success=False, reason=error.reason, message=str(error))
    except UncertainError:
        return Underway(None, poll_s)
    return underway(found)


async def followed(look: Awaitable[Underway | Outcome | Lost], *, overdue_s: float) -> Underway | Outcome | Lost:
    try:
        return await look
    except (RateLimitedError, UnreachedError, UncertainError) as error:
        raise later(error) from error
    except RefusedError as error:
        # A token that has expired says nothing about the run.
        if error.status in (401, 403) and overdue_s < CANCEL_WITHIN_S:
            raise later(error) from error
        return Outcome(is_success=False, reason=error.reason, message=str(error))


def bare_outputs(raw: JsonObject) -> JsonObject:
    """Values may be wrapped as Terraform prints them; sensitive ones stay out."""
    return {
        name: each["value"] if _is_wrapped(each) else each
        for name, each in raw.items()
        if not (_is_wrapped(each) and each.get("sensitive"))
    }


def _is_wrapped(value: Json) -> bool:
    return isinstance(value, dict) and "value" in value and value.keys() <= {"value", "type", "sensitive"}
