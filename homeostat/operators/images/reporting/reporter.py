"""Reports what a pass found of each workload: in the metrics, as an Event, in its ImageUpdate, and on the commit."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

import msgspec

from homeostat.client.base import UnreachableError
from homeostat.objects.errors import ApiError
from homeostat.operators.images.api import REQUESTED, ImageUpdateStatus
from homeostat.operators.images.engine.annotations import Tracked
from homeostat.operators.images.engine.entry import failed
from homeostat.operators.images.metrics import Series
from homeostat.operators.images.records import Records
from homeostat.operators.images.reporting.commit_statuses import CommitStatusReporter
from homeostat.operators.images.sources.guard import REFUSED
from homeostat.operators.images.sources.statuses import CommitState, wants_status
from homeostat.operators.images.status import Outcome, was_proposed
from homeostat.operators.images.world import Problem
from homeostat.runtime.control.recorder import About, EventType, Recorder

log = logging.getLogger(__name__)
NOT_RECORDED: Final = "ProposalNotRecorded"
_QUIET: Final = frozenset(
    {"SecretMissing", "RepositoryUnreachable", "RepositoryNotFound", "RefMissing", REFUSED, NOT_RECORDED}
)
"""Failures that the original does not notify of: nothing was tried yet."""


class Found(msgspec.Struct, frozen=True):
    tracked: Tracked
    outcome: Outcome
    retry_s: float | None = None
    note: str = ""
    commit: str = ""
    """The application's."""


class Reporter:
    def __init__(
        self,
        *,
        records: Records,
        statuses: CommitStatusReporter,
        recorder: Recorder,
        series: Series,
        now: Callable[[], datetime],
    ) -> None:
        self._records, self._statuses, self._recorder, self._series = records, statuses, recorder, series
        self._now = now

    async def report(self, found: Found) -> None:
        tracked, outcome = found.tracked, found.outcome
        self._series.count_action(outcome.entry.action)
        before = self._records.status(tracked)
        self._record_event(tracked, outcome, before)
        request = tracked.annotations.get(REQUESTED, "")
        outcome = msgspec.structs.replace(outcome, note=found.note, request=request)
        try:
            await self._records.keep(tracked, outcome, self._now())
        except (ApiError, UnreachableError) as error:
            # It is written by the next pass: the status that we meant goes before the stored one.
            log.warning("failed to write image update", extra={"deployment": tracked.key, "reason": str(error)})
        self._set_commit_status(found, before)

    def count_pass(self, found: Sequence[Found], seconds: float) -> None:
        is_success = all(each.outcome.entry.action != "failed" for each in found)
        self._series.passed(seconds, self._now().timestamp(), is_success=is_success)

    def _set_commit_status(self, found: Found, before: ImageUpdateStatus) -> None:
        """Once for each state of a commit."""
        status = _commit_state(found)
        if status is not None and wants_status(found.tracked) and status.identity != before.reported:
            self._statuses.set_commit_status(found.tracked, status)

    def _record_event(self, tracked: Tracked, outcome: Outcome, before: ImageUpdateStatus) -> None:
        entry = outcome.entry
        if was_proposed(before, outcome.tag):
            text = f"{tracked.title} got version {outcome.tag} by pull request {_url(before)}"
            self._recorder.record(_about(tracked), "Normal", "PullRequestMerged", text)
        is_same = before.result is not None and (before.result.action, before.result.message) == (
            entry.action,
            entry.message,
        )
        if is_same or entry.action == "up_to_date":
            return
        kind: EventType = "Warning" if entry.action == "failed" else "Normal"
        text = f"{entry.message} in commit {outcome.commit}" if outcome.commit else entry.message
        self._recorder.record(_about(tracked), kind, outcome.reason, text)


def all_failed(members: Sequence[Tracked], problem: Problem) -> list[Found]:
    return [
        Found(each, Outcome(entry=failed(each, problem.text), reason=problem.reason), problem.retry_s)
        for each in members
    ]


def failure_note(outcome: Outcome) -> str:
    """The notification of a failure; empty for what nobody is notified of."""
    is_notified = outcome.entry.action == "failed" and outcome.reason not in _QUIET
    return f":x: {outcome.entry.message}" if is_notified else ""


def _commit_state(found: Found) -> CommitState | None:
    outcome, key = found.outcome, found.tracked.key
    if not found.commit:
        return None
    if outcome.pull is not None and outcome.pull.state == "open":
        text = f"{key} waits for a pull request"
        return CommitState(commit=found.commit, state="pending", description=text, target=outcome.pull.url)
    if outcome.pull is not None and outcome.pull.state == "refused":
        text = f"{key}: the pull request was closed without a merge"
        return CommitState(commit=found.commit, state="failure", description=text, target=outcome.pull.url)
    if outcome.entry.action in ("patched", "up_to_date"):
        return CommitState(commit=found.commit, state="success", description=f"{key} is at {outcome.tag}")
    return None


def _about(tracked: Tracked) -> About:
    return About(tracked.kind.api_version, tracked.kind.kind, tracked.namespace, tracked.name, tracked.uid)


def _url(status: ImageUpdateStatus) -> str:
    return status.pull_request.url if status.pull_request is not None else ""
