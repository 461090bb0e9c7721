"""Jobs: how many Pods to create, which to delete, and the status with its conditions. Pure.

A Job that has reached its end deletes the Pods that still run. When the last of them is gone, it is Complete or Failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.objects.time.timestamp import format_time
from homeostat.operators.workloads.api import Pod, Workload
from homeostat.operators.workloads.availability import time_of
from homeostat.operators.workloads.conditions import find, with_condition
from homeostat.operators.workloads.jobs.counts import INDEX, NONE_DELETED, Counts, Deleted, Tally
from homeostat.operators.workloads.jobs.indexes import count, format_indexes
from homeostat.operators.workloads.jobs.policies import success_message
from homeostat.operators.workloads.jobs.turnover import due, wanted
from homeostat.operators.workloads.status import is_same_status

REQUIRED: Final = ("ready", "terminating", "uncountedTerminatedPods", "failedIndexes")
"""Parts of the status that are there even if they are 0 or empty."""
_INDEX_VARIABLE: Final = "JOB_COMPLETION_INDEX"
_PROBED: Final = "lastProbeTime"
_FIRST_BACK_OFF_S: Final = 10.0


class Decision(msgspec.Struct, frozen=True):
    create: tuple[int | None, ...] = ()
    """The completion index of each new Pod; None if the Job has none."""
    failures: dict[int, int] = {}
    """How often indexes have failed, in a Job that limits that for each."""
    delete: tuple[Pod, ...] = ()
    status: JsonObject | None = None
    again_s: float | None = None
    expired: bool = False
    """`ttlSecondsAfterFinished` has passed: delete the Job itself."""
    events: tuple[tuple[str, str], ...] = ()
    tally: Tally | None = None
    """For the next time; None when the Job has ended."""


def finished_condition(job: Workload) -> str:
    """`Complete` or `Failed`; empty while the Job runs."""
    for each in job.status.get("conditions") or ():
        if each.get("type") in ("Complete", "Failed") and each.get("status") == "True":
            found: str = each["type"]
            return found
    return ""


def decide(
    job: Workload,
    pods: Sequence[Pod],
    *,
    tally: Tally | None = None,
    deleted: Deleted = NONE_DELETED,
    back_off_s: float = _FIRST_BACK_OFF_S,
    now: datetime,
) -> Decision:
    """`pods` are the owned ones; `tally` is that of the last decision, None after a start."""
    if finished_condition(job):
        return _after(job, pods, now)
    if job.metadata.is_terminating:
        return Decision()
    counts = Counts(job, pods, tally, deleted, now)
    return msgspec.structs.replace(_next(job, counts, back_off_s, now), tally=counts.tally)


def _next(job: Workload, counts: Counts, back_off_s: float, now: datetime) -> Decision:
    end = _ordained(job) or _end_of(job, counts, now)
    if end is not None:
        if end.kind == "Failed":
            counts.give_up()
        return _end(job, counts, end, now)
    if job.spec.get("suspend"):
        return _suspended(job, counts, now)
    return _running(job, counts, back_off_s, now)


class End(NamedTuple):
    kind: str
    """`Complete` or `Failed`."""
    reason: str
    message: str


_DONE: Final = End("Complete", "CompletionsReached", "Reached expected number of succeeded pods")
_FIRST: Final = {"Complete": "SuccessCriteriaMet", "Failed": "FailureTarget"}


def _ordained(job: Workload) -> End | None:
    """The end that was written before, while Pods are still being deleted."""
    for kind, first in _FIRST.items():
        found = find(job.status.get("conditions") or (), first)
        if found is not None and found.get("status") == "True":
            return End(kind, found.get("reason") or "", found.get("message") or "")
    return None


def _end_of(job: Workload, counts: Counts, now: datetime) -> End | None:
    failure = _failure(job, counts, now)
    if failure is not None:
        return End("Failed", *failure)
    if message := success_message(job, counts.done):
        return End("Complete", "SuccessPolicy", message)
    return _DONE if _is_done(job, counts) else None


def with_index(spec: JsonObject) -> JsonObject:
    """The spec of an indexed Pod, whose containers read the index from a variable."""
    field = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
    variable: JsonObject = {"name": _INDEX_VARIABLE, "valueFrom": field}

    def informed(container: JsonObject) -> JsonObject:
        given = container.get("env") or []
        is_named = any(each.get("name") == _INDEX_VARIABLE for each in given)
        return container if is_named else {**container, "env": [*given, variable]}

    parts = ("containers", "initContainers")
    return {**spec, **{name: [informed(each) for each in spec[name]] for name in parts if spec.get(name)}}


def _is_done(job: Workload, counts: Counts) -> bool:
    wanted = job.spec.get("completions")
    if wanted is None:
        # A work queue: one success says that the work is done, and then the others end by themselves.
        return counts.succeeded > 0 and not counts.active
    return bool(counts.succeeded >= wanted)


def _failure(job: Workload, counts: Counts, now: datetime) -> tuple[str, str] | None:
    if counts.verdict is not None:
        return "PodFailurePolicy", counts.verdict.message
    if counts.failed_indexes:
        most = job.spec.get("maxFailedIndexes")
        if most is not None and count(counts.failed_indexes) > most:
            return "MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes"
        if count(counts.failed_indexes) + counts.succeeded >= (job.spec.get("completions") or 0):
            return "FailedIndexes", "Job has failed indexes"
    limit = job.spec.get("backoffLimit", 6)
    restarts = sum(each.restarts for each in counts.active) if _restarts(job) else 0
    if (
        counts.failed > limit
        or (_restarts(job) and restarts > 0 and restarts >= limit > 0)
        or (_restarts(job) and restarts > limit == 0)
    ):
        return "BackoffLimitExceeded", "Job has reached the specified backoff limit"
    left_s = _deadline_left(job, now)
    if left_s is not None and left_s <= 0:
        return "DeadlineExceeded", "Job was active longer than specified deadline"
    return None


def _restarts(job: Workload) -> bool:
    spec = (job.spec.get("template") or {}).get("spec") or {}
    return bool(spec.get("restartPolicy") == "OnFailure")


def _deadline_left(job: Workload, now: datetime) -> float | None:
    deadline_s, started = job.spec.get("activeDeadlineSeconds"), job.status.get("startTime")
    if deadline_s is None or not started or job.spec.get("suspend"):
        return None
    return float(deadline_s) - (now - time_of(started, now)).total_seconds()


def _status(job: Workload, counts: Counts, *, active: int, conditions: list[JsonObject]) -> JsonObject:
    status: JsonObject = {
        "active": active,
        "ready": counts.ready if active else 0,
        "succeeded": counts.succeeded,
        "failed": counts.failed,
        "terminating": counts.terminating,
        "uncountedTerminatedPods": {},
        "conditions": conditions,
    }
    if counts.is_indexed:
        status["completedIndexes"] = format_indexes(counts.done)
    if counts.is_indexed and job.spec.get("backoffLimitPerIndex") is not None:
        status["failedIndexes"] = format_indexes(counts.failed_indexes)
    return status


def _end(job: Workload, counts: Counts, end: End, now: datetime) -> Decision:
    moment = format_time(now)
    conditions: list[JsonObject] = list(job.status.get("conditions") or ())
    is_over = not counts.active and not counts.terminating
    for each in (_FIRST[end.kind], *([end.kind] if is_over else [])):
        conditions = with_condition(conditions, each, "True", end.reason, end.message, now=moment, key=_PROBED)
    status = _status(job, counts, active=0, conditions=conditions)
    status["startTime"] = job.status.get("startTime") or moment
    if not is_over:
        is_same = is_same_status(job.status, status)
        return Decision(delete=tuple(counts.active), status=None if is_same else status)
    if end.kind == "Complete":
        status["completionTime"] = moment
    event = ("Completed", "Job completed") if end.kind == "Complete" else (end.reason, end.message)
    return Decision(status=status, again_s=0.0, events=(event,))


def _suspended(job: Workload, counts: Counts, now: datetime) -> Decision:
    conditions: list[JsonObject] = list(job.status.get("conditions") or ())
    words = ("True", "JobSuspended", "Job suspended")
    noted = with_condition(conditions, "Suspended", *words, now=format_time(now), key=_PROBED)
    events = (("Suspended", "Job suspended"),) if noted != conditions else ()
    status = _status(job, counts, active=0, conditions=noted)
    is_same = is_same_status(job.status, status)
    return Decision(delete=tuple(counts.active), status=None if is_same else status, events=events)


def _running(job: Workload, counts: Counts, back_off_s: float, now: datetime) -> Decision:
    moment = format_time(now)
    conditions: list[JsonObject] = list(job.status.get("conditions") or ())
    started, events = job.status.get("startTime"), ()
    suspended = find(conditions, "Suspended")
    if suspended is not None and suspended.get("status") == "True":
        words = ("False", "JobResumed", "Job resumed")
        conditions = with_condition(conditions, "Suspended", *words, now=moment, key=_PROBED)
        started, events = None, (("Resumed", "Job resumed"),)  # type: ignore[assignment]
    create, delete = wanted(job, counts)
    create, wait_s = ((), 0.0) if delete else due(job, counts, create, back_off_s, now)
    status = _status(job, counts, active=len(counts.active), conditions=conditions)
    status["startTime"] = started or moment
    waits = [each for each in (wait_s or None, _deadline_left(job, now)) if each is not None and each > 0]
    is_same = is_same_status(job.status, status)
    return Decision(
        create,
        counts.index_failures,
        delete,
        None if is_same else status,
        again_s=min(waits) + 0.05 if waits else None,
        events=events,
    )


def _after(job: Workload, pods: Sequence[Pod], now: datetime) -> Decision:
    """What is left to do for a Job that has ended."""
    ttl_s = job.spec.get("ttlSecondsAfterFinished")
    running = tuple(each for each in pods if each.is_active)
    if ttl_s is None or job.metadata.is_terminating:
        return Decision(delete=running)
    condition = find(job.status.get("conditions") or (), finished_condition(job)) or {}
    left_s = ttl_s - (now - time_of(condition.get("lastTransitionTime") or "", now)).total_seconds()
    return Decision(delete=running, again_s=max(left_s, 0.0) if left_s > 0 else None, expired=left_s <= 0)
