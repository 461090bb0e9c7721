"""CronJobs: whether a Job is due now, which old ones to delete, and when to look again. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple
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


Event = tuple[str, str, str]
"""Type, reason and message."""


class CronError(ValueError):
    """The schedule or its time zone is invalid."""


class Decision(msgspec.Struct, frozen=True):
    create: JsonObject | None = None
    delete: tuple[Workload, ...] = ()
    status: JsonObject | None = None
    again_s: float | None = None
    events: tuple[Event, ...] = ()


class Times(NamedTuple):
    due: datetime | None
    """The last time that is due and has not been served."""
    following: datetime | None
    """None if there is none any more."""
    is_many: bool = False
    """Whether so many were missed that only the last one was looked for."""


def decide(cron: Workload, jobs: Sequence[Workload], now: datetime) -> Decision:
    """`CronError` for an invalid schedule. `jobs` are the owned ones. Only those that the status names as active count
    as started by the schedule; the controller adds each that it creates.
    """
    if cron.metadata.is_terminating:
        return Decision()
    active, running, events = _active(cron, jobs)
    history = _beyond_limits(cron, jobs)
    status = _status(cron, jobs, active)
    if cron.spec.get("suspend"):
        return Decision(delete=history, status=_changed(cron, status), events=events)
    found = times(cron, now)
    again_s = None if found.following is None else (found.following - now).total_seconds() + 0.05
    if found.due is None:
        return Decision(None, history, _changed(cron, status), again_s, events)
    if found.is_many:
        events = (*events, ("Warning", "TooManyMissedTimes", _TOO_MANY))
    policy = cron.spec.get("concurrencyPolicy") or "Allow"
    if active and policy == "Forbid":
        return Decision(
            None, history, _changed(cron, status), again_s, (*events, ("Normal", "JobAlreadyActive", _BUSY))
        )
    if policy == "Replace":
        history = (*history, *running)
        status["active"] = []
    status["lastScheduleTime"] = format_time(found.due)
    return Decision(job_for(cron, found.due), history, _changed(cron, status), again_s, events)


_BUSY: Final = "Not starting job because prior execution is running and concurrency policy is Forbid"
_TOO_MANY: Final = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"


def _active(cron: Workload, jobs: Sequence[Workload]) -> tuple[list[JsonObject], list[Workload], tuple[Event, ...]]:
    """The references of the status to Jobs that still run, these Jobs, and what there is to say of all others. Others
    may write the status, so a reference leads to a Job by its uid alone.
    """
    found: list[JsonObject] = []
    running: list[Workload] = []
    events: list[Event] = []
    by_uid = {each.metadata.uid: each for each in jobs}
    for each in cron.status.get("active") or ():
        job = by_uid.pop(each.get("uid") or "", None)
        if job is None:
            events.append(("Normal", "MissingJob", f"Active job went missing: {each.get('name')}"))
        elif ended := finished_condition(job):
            text = f"Saw completed job: {job.metadata.name}, condition: {ended}"
            events.append(("Normal", "SawCompletedJob", text))
        else:
            found.append(each)
            running.append(job)
    for job in by_uid.values():
        if not finished_condition(job):
            text = f"Saw a job that the controller did not create or forgot: {job.metadata.name}"
            events.append(("Warning", "UnexpectedJob", text))
    return found, running, tuple(events)


def _changed(cron: Workload, status: JsonObject) -> JsonObject | None:
    return None if is_same_status(cron.status, status) else status


def times(cron: Workload, now: datetime) -> Times:
    schedule, zone = (cron.spec.get("schedule") or "").strip(), _zone_of(cron)
    since = time_of(cron.status.get("lastScheduleTime") or cron.metadata.creation_timestamp, now)
    deadline_s = cron.spec.get("startingDeadlineSeconds")
    earliest = (
        since if deadline_s is None else max(since, now - timedelta(seconds=min(deadline_s, _LONGEST_DEADLINE_S)))
    )
    if schedule.startswith(EVERY):
        return _periodic(schedule, since, earliest, now)
    due = None
    for count, moment in enumerate(_moments(schedule, zone, earliest)):
        if moment > now:
            return Times(due, moment)
        due = moment
        if count >= MOST_MISSED:
            # Too many missed times, as after a long stop: only the last one counts.
            return Times(_last_before(schedule, zone, now), next(_moments(schedule, zone, now), None), is_many=True)
    return Times(due, None)


def _zone_of(cron: Workload) -> str:
    return cron.spec.get("timeZone") or "UTC"


def _periodic(schedule: str, since: datetime, earliest: datetime, now: datetime) -> Times:
    """Whole seconds, and at least one."""
    try:
        step = timedelta(seconds=max(parse_duration(schedule.removeprefix(EVERY)) // 10**9, 1))
        passed = max((now - since) // step, 0)
        due, following = since + passed * step if passed else None, since + (passed + 1) * step
        missed = max((now - earliest) // step, 0)
    except (DurationError, OverflowError) as error:
        raise CronError(f"unparseable schedule {schedule!r}: {error}") from error
    return Times(due if due is not None and due >= earliest else None, following, missed > MOST_MISSED)


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
    scheduled = due.astimezone(ZoneInfo(_zone_of(cron))).isoformat(timespec="seconds").replace("+00:00", "Z")
    return {
        "apiVersion": JOB.api_version,
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": cron.metadata.namespace,
            "labels": given.get("labels") or {},
            "annotations": {**(given.get("annotations") or {}), SCHEDULED: scheduled},
            "ownerReferences": [owner_reference(CRON_JOB, cron.metadata)],
        },
        "spec": template.get("spec") or {},
    }


def _status(cron: Workload, jobs: Sequence[Workload], active: Sequence[JsonObject]) -> JsonObject:
    ends = [str(each.status["completionTime"]) for each in jobs if each.status.get("completionTime")]
    status: JsonObject = {"active": list(active)}
    if ends:
        status["lastSuccessfulTime"] = max([*ends, cron.status.get("lastSuccessfulTime") or ""])
    return status


def reference_to(job: JsonObject) -> JsonObject:
    """As the status names an active Job."""
    wanted = ("name", "namespace", "resourceVersion", "uid")
    return {"apiVersion": JOB.api_version, "kind": "Job", **{name: job["metadata"][name] for name in wanted}}


def _beyond_limits(cron: Workload, jobs: Sequence[Workload]) -> tuple[Workload, ...]:
    limits = {
        "Complete": cron.spec.get("successfulJobsHistoryLimit", 3),
        "Failed": cron.spec.get("failedJobsHistoryLimit", 1),
    }
    surplus: list[Workload] = []
    for kind, limit in limits.items():
        ended = [each for each in jobs if finished_condition(each) == kind and not each.metadata.is_terminating]
        ended.sort(key=lambda each: (each.status.get("startTime") or "", each.metadata.name))
        if limit is not None and len(ended) > limit:
            surplus += ended[: len(ended) - limit]
    return tuple(surplus)
