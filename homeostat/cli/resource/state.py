"""The state of a resource from its status: as text, and as the end of a wait. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, NamedTuple

import msgspec

from homeostat.cli.console.failure import Failure
from homeostat.objects.conditions import READY, RECONCILING, find
from homeostat.objects.json import JsonObject
from homeostat.objects.time.age import epoch_of, human_duration
from homeostat.operators.actions.api import ResourceStatus
from homeostat.operators.actions.conditions import DESTROY_FAILED, FAILED, current_message
from homeostat.operators.actions.runs.run import Changes, Run
from homeostat.operators.actions.schedule import is_past
from homeostat.runtime.control.failure_conditions import PAUSE

End = Literal["ready", "failed", "undestroyed", "paused"]


class Goal(NamedTuple):
    """What to wait for: that this generation is ready, or that the resource is gone; with `request`, after that
    reconciliation request was handled.
    """

    generation: int = 0
    request: str = ""
    is_gone: bool = False


class Standing(NamedTuple):
    """The phase of a resource, with message, start time and the URL of its run."""

    phase: str
    message: str
    since: float | None
    url: str
    is_running: bool

    def text(self, now: float) -> str:
        message = f"{self.phase}: {self.message}" if self.message else self.phase
        age = self.age(now)
        return f"{message}{f' ({age})' if age else ''}{f' {self.url}' if self.url else ''}"

    def age(self, now: float) -> str:
        return human_duration(max(now - self.since, 0)) if self.since is not None else ""


def status_of(obj: JsonObject) -> ResourceStatus:
    try:
        return msgspec.convert(obj.get("status") or {}, ResourceStatus)
    except msgspec.ValidationError as error:
        raise Failure(f"the status of {obj['metadata']['name']} does not match the expected schema: {error}") from error


def standing_of(obj: JsonObject) -> Standing:
    status = status_of(obj)
    if status.run is not None:
        return Standing(status.phase, current_message(status), epoch_of(status.run.began), run_url(status.run), True)
    changed = max((each.last_transition_time or "" for each in status.conditions), default="")
    return Standing(status.phase, status.message, epoch_of(changed), "", False)


def end_of(obj: JsonObject, goal: Goal, now: datetime) -> End | None:
    """Returns how a wait ends; None while it goes on. The resource exists."""
    status = status_of(obj)
    if is_paused(obj):
        return "paused"
    is_observed = status.observed_generation >= goal.generation and status.run is None
    if not is_observed or (goal.request and status.handled_request != goal.request):
        return None
    if goal.is_gone:
        reconciling = find(status.conditions, RECONCILING)
        return "undestroyed" if reconciling is not None and reconciling.reason == DESTROY_FAILED else None
    ready = find(status.conditions, READY)
    if ready is None:
        return None
    if status.phase == "failed" and ready.reason == FAILED:
        return "failed"
    # An equivalent declaration is observed without a reconciliation: its next run is in the future.
    is_reconciled = status.reconciled_generation >= goal.generation or not is_past(status.next_run, now)
    return "ready" if status.phase == "ready" and ready.status == "True" and is_reconciled else None


def is_paused(obj: JsonObject) -> bool:
    """The annotation pauses its reconciliation."""
    annotations = obj["metadata"].get("annotations") or {}
    return bool(annotations.get(PAUSE, "false") != "false")


def next_run(obj: JsonObject, status: ResourceStatus, now: float) -> str:
    """`in 4m`, `now` or `paused`; empty during a run."""
    if status.run is not None:
        return ""
    return "paused" if is_paused(obj) else ahead(status.next_run, now)


def run_url(run: Run) -> str:
    """The link to a run, if its plugin provides one."""
    if run.outcome is not None and run.outcome.url:
        return run.outcome.url
    found = (run.handle or {}).get("url")
    return found if isinstance(found, str) else ""


def changes_text(changes: Changes) -> str:
    """`+1 ~2 -0`: created, updated, deleted."""
    return f"+{changes.created} ~{changes.updated} -{changes.deleted}"


def ahead(timestamp: str | None, now: float) -> str:
    """The time until then: `in 4m`, or `now`."""
    at = epoch_of(timestamp)
    if at is None:
        return ""
    return f"in {human_duration(at - now)}" if at - now >= 1 else "now"
