"""CronJobs: whether a Job is due now, which old ones to delete, and when to look again. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

import msgspec
from cronsim import CronSim, CronSimError

from homeostat.objects.declared import owner_reference
from homeostat.objects.json import JsonObject
from homeostat.objects.time.cron import DESCRIPTORS, EVERY, FIELDS
from homeostat.objects.time.duration import DurationError, parse_duration
from homeostat.objects.time.timestamp import format_time
from homeostat.operators.workloads.api import CRON_JOB, JOB, Workload
from homeostat.operators.workloads.availability import time_of
from homeostat.operators.workloads.jobs.decide import finished_condition
from homeostat.operators.workloads.status import is_same_status

SCHEDULED: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"
MOST_MISSED: Final = 100
_LONGEST_DEADLINE_S: Final = 10**9


class CronError(ValueError):
    """The schedule or its time zone is invalid."""


class Decision(msgspec.Struct, frozen=True):
    create: JsonObject | None = None
    delete: tuple[str, ...] = ()
    """Names of Jobs."""
    status: JsonObject | None = None
    again_s: float | None = None
    events: tuple[tuple[str, str, str], ...] = ()


def decide(cron: Workload, jobs: Sequence[Workload], now: datetime) -> Decision:
    """`CronError` for an invalid schedule. `jobs` are the owned ones."""
    if cron.metadata.is_terminating:
        return Decision()
    active = [each for each in jobs if not finished_condition(each)]
    history = _beyond_limits(cron, jobs)
    status = _status(cron, jobs, active)
    if cron.spec.get("suspend"):
        return Decision(delete=history, status=_changed(cron, status))
    due, next_due = times(cron, now)
    again_s = None if next_due is None else (next_due - now).total_seconds() + 0.05
    events: tuple[tuple[str, str, str], ...] = ()
    create, delete = None, history
    if due is not None:
        policy = cron.spec.get("concurrencyPolicy") or "Allow"
        if active and policy == "Forbid":
            text = "Not starting job because prior execution is running and concurrency policy is Forbid"
            events = (("Normal", "JobAlreadyActive", text),)
        else:
            if policy == "Replace":
                delete = (*history, *(each.metadata.name for each in active))
            create = job_for(cron, due)
            status["lastScheduleTime"] = format_time(due)
    return Decision(create, delete, _changed(cron, status), again_s, events)


def _changed(cron: Workload, status: JsonObject) -> JsonObject | None:
    return None if is_same_status(cron.status, status) else status


def times(cron: Workload, now: datetime) -> tuple[datetime | None, datetime | None]:
    """The last time that is due and has not been served, if any; and the next time, None if there is none."""
    schedule, zone = (cron.spec.get("schedule") or "").strip(), cron.spec.get("timeZone") or "UTC"
    since = time_of(cron.status.get("lastScheduleTime") or cron.metadata.creation_timestamp, now)
    deadline_s = cron.spec.get("startingDeadlineSeconds")
    earliest = (
        since if deadline_s is None else max(since, now - timedelta(seconds=min(deadline_s, _LONGEST_DEADLINE_S)))
    )
    if schedule.startswith(EVERY):
        due, following = _periodic(schedule, since, now)
        return due if due is not None and due >= earliest else None, following
    due = None
    for count, moment in enumerate(_moments(schedule, zone, earliest)):
        if moment > now:
            return due, moment
        due = moment
        if count >= MOST_MISSED:
            # Too many missed times, as after a long stop: only the last one counts.
            return _last_before(schedule, zone, now), next(_moments(schedule, zone, now), None)
    return due, None


def _periodic(schedule: str, since: datetime, now: datetime) -> tuple[datetime | None, datetime]:
    """Whole seconds, and at least one."""
    try:
        step = timedelta(seconds=max(parse_duration(schedule.removeprefix(EVERY)) // 10**9, 1))
        passed = max((now - since) // step, 0)
        return since + passed * step if passed else None, since + (passed + 1) * step
    except (DurationError, OverflowError) as error:
        raise CronError(f"unparseable schedule {schedule!r}: {error}") from error


def _last_before(schedule: str, zone: str, now: datetime) -> datetime:
    found = now
    for back_s in (120, 7200, 172_800, 5_270_400, 63_244_800):
        found = now
        for moment in _moments(schedule, zone, now - timedelta(seconds=back_s)):
            if moment > now:
                break
            found = moment
        if found is not now:
            break
    return found


def _moments(schedule: str, zone: str, start: datetime) -> Iterator[datetime]:
    text = schedule
    for prefix in ("TZ=", "CRON_TZ="):
        if text.startswith(prefix):
            name, _, text = text.removeprefix(prefix).partition(" ")
            zone = name
    text = DESCRIPTORS.get(text, text).replace("?", "*")
    try:
        begin = start.astimezone(ZoneInfo(zone))
        return iter(()) if _never_falls_due(text, begin) else CronSim(text, begin)
    except (CronSimError, KeyError, ValueError, OSError) as error:
        raise CronError(f"unparseable schedule {schedule!r} in time zone {zone!r}: {error}") from error


def _never_falls_due(text: str, start: datetime) -> bool:
    """Whether the days, as the 31st of February, are in none of the months: CronSim calls that invalid."""
    fields = text.split()
    if len(fields) != FIELDS or _is_valid(fields, start):
        return False
    minute, hour, day, month, weekday = fields
    return _is_valid([minute, hour, day, "*", weekday], start) and _is_valid([minute, hour, "*", month, weekday], start)


def _is_valid(fields: Sequence[str], start: datetime) -> bool:
    try:
        CronSim(" ".join(fields), start)
    except CronSimError:
        return False
    return True


def job_for(cron: Workload, due: datetime) -> JsonObject:
    """Named by the minute, so that the same time never makes two Jobs."""
    template = cron.spec.get("jobTemplate") or {}
    given = template.get("metadata") or {}
    name = f"{cron.metadata.name[:52]}-{int(due.timestamp()) // 60}"
    return {
        "apiVersion": JOB.api_version,
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": cron.metadata.namespace,
            "labels": given.get("labels") or {},
            "annotations": {**(given.get("annotations") or {}), SCHEDULED: format_time(due.astimezone(UTC))},
            "ownerReferences": [owner_reference(CRON_JOB, cron.metadata)],
        },
        "spec": template.get("spec") or {},
    }


def _status(cron: Workload, jobs: Sequence[Workload], active: Sequence[Workload]) -> JsonObject:
    ends = [str(each.status["completionTime"]) for each in jobs if each.status.get("completionTime")]
    references = [
        {
            "apiVersion": JOB.api_version,
            "kind": "Job",
            "name": each.metadata.name,
            "namespace": each.metadata.namespace,
            "resourceVersion": each.metadata.resource_version,
            "uid": each.metadata.uid,
        }
        for each in active
    ]
    known = {each.get("uid"): each for each in cron.status.get("active") or ()}
    status: JsonObject = {"active": [known.get(each["uid"], each) for each in references]}
    if ends:
        status["lastSuccessfulTime"] = max([*ends, cron.status.get("lastSuccessfulTime") or ""])
    return status


def _beyond_limits(cron: Workload, jobs: Sequence[Workload]) -> tuple[str, ...]:
    limits = {
        "Complete": cron.spec.get("successfulJobsHistoryLimit", 3),
        "Failed": cron.spec.get("failedJobsHistoryLimit", 1),
    }
    surplus: list[str] = []
    for kind, limit in limits.items():
        ended = [each for each in jobs if finished_condition(each) == kind and not each.metadata.is_terminating]
        ended.sort(key=lambda each: (each.status.get("startTime") or "", each.metadata.name))
        if limit is not None and len(ended) > limit:
            surplus += [each.metadata.name for each in ended[: len(ended) - limit]]
    return tuple(surplus)
