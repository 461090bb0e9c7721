"""The Pods of a Job by their state, together with those that were counted before. Pure.

Ended Pods are counted once each, by uid, and stay counted when they are deleted. The tally is in memory; after a start
it begins with the status, or with the Pods that are there if they are more.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.operators.workloads.api import Pod, Workload
from homeostat.operators.workloads.availability import time_of
from homeostat.operators.workloads.jobs.indexes import Span, count, merged, parse_indexes
from homeostat.operators.workloads.jobs.policies import verdict_on
from homeostat.operators.workloads.sizes import integer_of

INDEX: Final = "batch.kubernetes.io/job-completion-index"
FAILURES: Final = "batch.kubernetes.io/job-index-failure-count"


class Streak(msgspec.Struct, frozen=True):
    """Failures without a success after them: they delay new Pods."""

    count: int = 0
    last: datetime | None = None

    def followed_by(self, successes: Sequence[datetime], failures: Sequence[datetime]) -> Streak:
        if not successes:
            return Streak(self.count + len(failures), max(failures, default=self.last))
        later = [each for each in failures if each > max(successes)]
        return Streak(len(later), max(later, default=None))


class Tally(msgspec.Struct, frozen=True):
    """How many Pods of a Job have ended, and the uids of those among them that still exist."""

    succeeded: int
    failed: int
    uids: frozenset[str]
    streak: Streak = Streak()
    index_failures: dict[int, int] = {}
    """How often indexes have failed, in a Job that limits that for each."""
    index_failed_at: dict[int, datetime] = {}
    """When they did so for the last time."""


class Deleted(msgspec.Struct, frozen=True):
    """Pods that others have deleted and that are not counted yet."""

    gone: tuple[Pod, ...] = ()
    """Those that no longer exist."""
    lost: frozenset[str] = frozenset()
    """The uids of those that ran, gone or not: they count as failed."""


NONE_DELETED: Final = Deleted()


class Counts:
    def __init__(
        self, job: Workload, pods: Sequence[Pod], tally: Tally | None, deleted: Deleted, now: datetime
    ) -> None:
        status = job.status
        self.active = [each for each in pods if each.is_active]
        self.ready = sum(1 for each in self.active if each.is_ready)
        self.terminating = sum(1 for each in pods if each.metadata.is_terminating and not each.is_finished)
        ended = [*pods, *deleted.gone]
        succeeded = [each for each in ended if each.status.phase == "Succeeded"]
        failed = [each for each in ended if each.status.phase == "Failed" or each.metadata.uid in deleted.lost]
        verdicts = [(each, verdict_on(job, each)) for each in failed]
        self.failed_pods = [each for each, verdict in verdicts if verdict.action != "Ignore"]
        self.verdict = next((verdict for _, verdict in verdicts if verdict.action == "FailJob"), None)
        self.is_indexed = job.spec.get("completionMode") == "Indexed"
        self.done: list[Span] = []
        self.failed_indexes: list[Span] = []
        former = _first_tally(status, succeeded, self.failed_pods) if tally is None else tally
        known = frozenset[str]() if tally is None else tally.uids
        news = [each for each in failed if each.metadata.uid not in known]
        self.index_failures = dict(former.index_failures)
        index_failed_at = {**former.index_failed_at, **_last_ends(news, now)}
        if self.is_indexed:
            completions = job.spec.get("completions") or 0
            self.done = _spans(status.get("completedIndexes"), [index_of(each) for each in succeeded], completions)
            doomed = [each for each, verdict in verdicts if verdict.action == "FailIndex"]
            self._count_indexes(job, doomed, completions)
        present = {each.metadata.uid for each in pods}
        self.tally = Tally(
            former.succeeded + _new(succeeded, former),
            former.failed + _new(self.failed_pods, former),
            frozenset(each.metadata.uid for each in (*succeeded, *failed)) | (former.uids & present),
            former.streak.followed_by(
                [_ended(each, now) for each in succeeded if each.metadata.uid not in known],
                [_ended(each, now) for each in news],
            ),
            self.index_failures,
            index_failed_at,
        )
        self.failed = self.tally.failed
        self.succeeded = count(self.done) if self.is_indexed else self.tally.succeeded

    def give_up(self) -> None:
        """The Pods that still run when a Job fails count as failed: once, also if their deletion has to be repeated."""
        running = [each for each in self.active if each.metadata.uid not in self.tally.uids]
        lost = [each for each in running if not self.is_indexed or index_of(each) is not None]
        uids = self.tally.uids | {each.metadata.uid for each in lost}
        self.failed += len(lost)
        self.tally = msgspec.structs.replace(self.tally, failed=self.failed, uids=uids)

    def _count_indexes(self, job: Workload, doomed: Sequence[Pod], completions: int) -> None:
        """Of a Job with a limit for each index: how often each has failed, and which may not be tried again."""
        limit = job.spec.get("backoffLimitPerIndex")
        if limit is None:
            return
        for pod in self.failed_pods:
            index = index_of(pod)
            if index is not None:
                before = integer_of(pod.metadata.annotations.get(FAILURES, "")) or 0
                self.index_failures[index] = max(self.index_failures.get(index, 0), before + 1)
        over = [index for index, failures in self.index_failures.items() if failures > limit]
        lost = [*over, *(index_of(each) for each in doomed)]
        self.failed_indexes = _spans(job.status.get("failedIndexes"), lost, completions)


def _last_ends(pods: Sequence[Pod], now: datetime) -> dict[int, datetime]:
    """By completion index."""
    found: dict[int, datetime] = {}
    for pod in pods:
        index = index_of(pod)
        if index is not None:
            ended = _ended(pod, now)
            found[index] = max(found.get(index, ended), ended)
    return found


def _spans(text: str | None, indexes: Sequence[int | None], completions: int) -> list[Span]:
    new = [(index, index) for index in indexes if index is not None and index < completions]
    return merged([*parse_indexes(text or "", completions), *new])


def _first_tally(status: JsonObject, succeeded: Sequence[Pod], failed: Sequence[Pod]) -> Tally:
    """After a start: the status, or what is there if that is more."""
    uids = frozenset(each.metadata.uid for each in (*succeeded, *failed))
    return Tally(max(len(succeeded), status.get("succeeded") or 0), max(len(failed), status.get("failed") or 0), uids)


def _new(pods: Sequence[Pod], former: Tally) -> int:
    return sum(1 for each in pods if each.metadata.uid not in former.uids)


def _ended(pod: Pod, now: datetime) -> datetime:
    """One that somebody deletes ends with the deletion, and not with its grace period."""
    condition = pod.condition("Ready")
    if condition is not None and condition.status != "True":
        return time_of(condition.last_transition_time, now)
    if pod.metadata.deletion_timestamp is not None:
        grace = timedelta(seconds=pod.metadata.deletion_grace_period_seconds or 0)
        return time_of(pod.metadata.deletion_timestamp, now) - grace
    return now if condition is not None else time_of(pod.metadata.creation_timestamp, now)


def index_of(pod: Pod) -> int | None:
    index = integer_of(pod.metadata.annotations.get(INDEX, ""))
    return index if index is not None and index >= 0 else None
