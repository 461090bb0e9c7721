"""What apps, batch, ReplicationController and PodDisruptionBudget objects may look like."""

from __future__ import annotations

import re
from collections.abc import Iterator
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from homeostat.objects.errors import Cause, forbidden, invalid, required, unsupported
from homeostat.objects.identifiers import dns1123_label
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.memory.cache import cached
from homeostat.objects.names import check_labels
from homeostat.server.kinds.builtins.checks.pods.pod import check_template
from homeostat.server.kinds.builtins.checks.pods.policies import check_policies
from homeostat.server.kinds.builtins.checks.schedule import ScheduleError, check_schedule
from homeostat.server.kinds.builtins.checks.storage import check_claim_spec
from homeostat.server.kinds.builtins.label_selector import check_selector, is_empty, matches
from homeostat.server.kinds.builtins.members import integer, numbered, struct, structs, text
from homeostat.server.kinds.builtins.value import (
    check_choice,
    check_count_or_percent,
    check_counts,
    check_text,
    is_integer,
)

_NO_MATCH = "`selector` does not match template `labels`"
_LONGEST_ZONE = 64
"""The library imports a package for each part of the name of a time zone; 400 parts are too deep for it."""
_time_zone = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*").fullmatch


def _check_selected_template(spec: JsonObject, kind: str, template: Json) -> list[Cause]:
    """The selector and the template of a workload that keeps its pods running."""
    causes: list[Cause] = []
    selector = spec.get("selector")
    is_broken = False
    if not isinstance(selector, dict):
        causes += [] if kind == "DaemonSet" else [required("spec.selector")]
    else:
        causes += check_selector(selector, "spec.selector")
        is_broken = bool(causes)
        if is_empty(selector):
            message = f"empty selector is invalid for {kind.lower()}"
            causes.append(invalid("spec.selector", selector, message))
    if is_broken and kind != "DaemonSet":
        causes.append(invalid("spec.selector", selector, "invalid label selector"))
        return causes + _check_keeps_running(struct(template, "spec"), kind)
    labels = struct(template, "metadata", "labels")
    is_matched = is_broken or (isinstance(selector, dict) and (is_empty(selector) or matches(selector, labels)))
    if not is_matched:
        causes.append(invalid("spec.template.metadata.labels", labels, _NO_MATCH))
    causes += check_template(template, "spec.template")
    return causes + _check_keeps_running(struct(template, "spec"), kind)


def _check_keeps_running(pod: JsonObject, kind: str) -> list[Cause]:
    causes: list[Cause] = []
    if text(pod, "restartPolicy") not in ("", "Always"):
        causes.append(unsupported("spec.template.spec.restartPolicy", pod["restartPolicy"], ["Always"]))
    if pod.get("activeDeadlineSeconds") is not None:
        message = f"activeDeadlineSeconds in {kind} is not Supported"
        causes.append(forbidden("spec.template.spec.activeDeadlineSeconds", message))
    return causes


def _check_deployment(obj: JsonObject) -> list[Cause]:
    spec = struct(obj, "spec")
    causes = check_counts(spec, "spec", "replicas")
    causes += _check_selected_template(spec, "Deployment", spec.get("template"))
    causes += _check_strategy(struct(spec, "strategy"), "spec.strategy", "Recreate")
    causes += check_counts(spec, "spec", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    deadline = spec.get("progressDeadlineSeconds")
    if is_integer(deadline) and integer(spec, "progressDeadlineSeconds") <= integer(spec, "minReadySeconds"):
        message = "must be greater than minReadySeconds"
        causes.append(invalid("spec.progressDeadlineSeconds", deadline, message))
    return causes


def _check_strategy(strategy: JsonObject, path: str, other: str, *, has_floor: bool = True) -> list[Cause]:
    """A strategy is RollingUpdate with bounds, or the `other` one without; `has_floor` refuses two bounds of zero."""
    kind, rolling = text(strategy, "type"), strategy.get("rollingUpdate")
    if kind == other:
        if isinstance(rolling, dict):
            message = f"may not be specified when strategy `type` is '{other}'"
            return [forbidden(f"{path}.rollingUpdate", message)]
        return []
    if kind not in ("", "RollingUpdate"):
        return [unsupported(path, kind, [other, "RollingUpdate"])]
    bounds = struct(strategy, "rollingUpdate")
    unavailable, surge = bounds.get("maxUnavailable"), bounds.get("maxSurge")
    at = f"{path}.rollingUpdate"
    causes = check_count_or_percent(unavailable, f"{at}.maxUnavailable", at_most_all=True)
    causes += check_count_or_percent(surge, f"{at}.maxSurge")
    if has_floor and unavailable in (0, "0%") and surge in (0, "0%"):
        causes.append(invalid(f"{at}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0"))
    return causes


def _check_replica_set(obj: JsonObject) -> list[Cause]:
    spec = struct(obj, "spec")
    causes = check_counts(spec, "spec", "replicas", "minReadySeconds")
    return causes + _check_selected_template(spec, "ReplicaSet", spec.get("template"))


def _check_replication_controller(obj: JsonObject) -> list[Cause]:
    spec = struct(obj, "spec")
    selector, template = struct(spec, "selector"), spec.get("template")
    causes = check_counts(spec, "spec", "replicas", "minReadySeconds")
    if not selector:
        causes.append(required("spec.selector"))
    causes += check_labels(selector, "spec.selector")
    labels = struct(template, "metadata", "labels")
    if isinstance(template, dict) and any(labels.get(key) != value for key, value in selector.items()):
        causes.append(invalid("spec.template.metadata.labels", labels, _NO_MATCH))
    causes += check_template(template, "spec.template")
    return causes + _check_keeps_running(struct(template, "spec"), "ReplicationController")


def _check_stateful_set(obj: JsonObject) -> list[Cause]:
    spec = struct(obj, "spec")
    causes = _check_policy(spec, "podManagementPolicy", ("OrderedReady", "Parallel"))
    strategy = struct(spec, "updateStrategy")
    if text(strategy, "type") == "OnDelete" and strategy.get("rollingUpdate") is not None:
        message = "only allowed for updateStrategy 'RollingUpdate'"
        causes.append(invalid("spec.updateStrategy.rollingUpdate", strategy["rollingUpdate"], message))
    elif text(strategy, "type") not in ("", "OnDelete", "RollingUpdate"):
        causes.append(invalid("spec.updateStrategy", strategy, "must be 'RollingUpdate' or 'OnDelete'"))
    causes += check_counts(struct(strategy, "rollingUpdate"), "spec.updateStrategy.rollingUpdate", "partition")
    causes += check_counts(spec, "spec", "replicas", "minReadySeconds")
    causes += check_counts(struct(spec, "ordinals"), "spec.ordinals", "start")
    if service := text(spec, "serviceName"):
        causes += check_text(service, "spec.serviceName", dns1123_label)
    retention = struct(spec, "persistentVolumeClaimRetentionPolicy")
    for name in ("whenDeleted", "whenScaled"):
        causes += check_choice(retention, name, "spec.persistentVolumeClaimRetentionPolicy", ("Retain", "Delete"))
    for at, claim in numbered(spec, "volumeClaimTemplates", "spec"):
        causes += check_claim_spec(struct(claim, "spec"), f"{at}.spec")
    return causes + _check_selected_template(spec, "StatefulSet", _with_claims(spec))


def _with_claims(spec: JsonObject) -> Json:
    """The template with the volumes of claims, and without the names that each Pod gets its own of."""
    template = spec.get("template")
    if not isinstance(template, dict) or not isinstance(pod := template.get("spec"), dict):
        return template
    names = dict.fromkeys(text(struct(each, "metadata"), "name") for each in structs(spec, "volumeClaimTemplates"))
    volumes = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in names]
    volumes += [each for each in structs(pod, "volumes") if text(each, "name") not in names]
    return {**template, "spec": {**pod, "hostname": "", "subdomain": "", "volumes": volumes}}


def _check_policy(spec: JsonObject, name: str, known: tuple[str, ...]) -> list[Cause]:
    value = text(spec, name)
    if value and value not in known:
        choices = " or ".join(f"'{each}'" for each in known)
        return [invalid(f"spec.{name}", value, f"must be {choices}")]
    return []


def _check_daemon_set(obj: JsonObject) -> list[Cause]:
    spec = struct(obj, "spec")
    causes = _check_selected_template(spec, "DaemonSet", spec.get("template"))
    if text(struct(spec, "updateStrategy"), "type") != "OnDelete":
        causes += _check_daemon_strategy(spec)
    return causes + check_counts(spec, "spec", "minReadySeconds", "revisionHistoryLimit")


def _check_daemon_strategy(spec: JsonObject) -> list[Cause]:
    causes = _check_strategy(struct(spec, "updateStrategy"), "spec.updateStrategy", "OnDelete", has_floor=False)
    bounds = struct(spec, "updateStrategy", "rollingUpdate")
    surge = bounds.get("maxSurge")
    unavailable = bounds.get("maxUnavailable")
    at = "spec.updateStrategy.rollingUpdate"
    if not _is_none(surge) and not _is_none(unavailable):
        causes.append(invalid(f"{at}.maxSurge", surge, "may not be set when maxUnavailable is non-zero"))
    elif bounds and _is_none(surge) and _is_none(unavailable):
        causes.append(required(f"{at}.maxUnavailable", "cannot be 0 when maxSurge is 0"))
    return causes


def _is_none(bound: Json) -> bool:
    """Whether a bound is no Pod at all; so is a text that is no percentage."""
    return not bound or (isinstance(bound, str) and not bound.rstrip("%").strip("0").isdecimal())


def _check_controller_revision(obj: JsonObject) -> list[Cause]:
    causes = [] if obj.get("data") is not None else [required("data", "data is mandatory")]
    if integer(obj, "revision") < 0:
        causes.append(invalid("revision", obj["revision"], "must be greater than or equal to 0"))
    return causes


def _check_job(obj: JsonObject) -> list[Cause]:
    spec = struct(obj, "spec")
    causes = _check_job_spec(spec, "spec")
    if text(spec, "completionMode") == "Indexed" and integer(spec, "completions") > 0:
        name = text(struct(obj, "metadata"), "name")
        last = f"{name}-{integer(spec, 'completions') - 1}"
        if dns1123_label(last):
            message = f"will not able to create pod with invalid DNS label: {last}"
            causes.append(invalid("metadata.name", name, message))
    selector = spec.get("selector")
    if isinstance(selector, dict):
        causes += check_selector(selector, "spec.selector")
        labels = struct(spec, "template", "metadata", "labels")
        if not matches(selector, labels):
            causes.append(invalid("spec.template.metadata.labels", labels, _NO_MATCH))
    elif spec.get("manualSelector") is True:
        causes.append(required("spec.selector"))
    return causes


def _check_job_spec(spec: JsonObject, path: str) -> list[Cause]:
    counts = ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished")
    causes = check_counts(spec, path, *counts, "backoffLimitPerIndex", "maxFailedIndexes")
    causes += check_choice(spec, "completionMode", path, ("NonIndexed", "Indexed"))
    causes += check_policies(spec, path)
    causes += check_template(spec.get("template"), f"{path}.template")
    policy = text(struct(spec, "template", "spec"), "restartPolicy")
    if policy == "Always":
        message = 'Required value: valid values: "OnFailure", "Never"'
        causes.append(Cause("FieldValueRequired", message, f"{path}.template.spec.restartPolicy"))
    return causes


def _check_cron_job(obj: JsonObject) -> list[Cause]:
    spec = struct(obj, "spec")
    causes = _check_cron_schedule(spec)
    causes += check_counts(
        spec, "spec", "startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"
    )
    causes += check_choice(spec, "concurrencyPolicy", "spec", ("Allow", "Forbid", "Replace"))
    job = struct(spec, "jobTemplate", "spec")
    causes += _check_job_spec(job, "spec.jobTemplate.spec")
    if job.get("selector") is not None:
        message = "`selector` will be auto-generated"
        causes.append(invalid("spec.jobTemplate.spec.selector", job["selector"], message))
    if job.get("manualSelector") is True:
        causes.append(unsupported("spec.jobTemplate.spec.manualSelector", True, ["nil", "false"]))
    return causes


def _check_cron_schedule(spec: JsonObject) -> list[Cause]:
    causes: list[Cause] = []
    schedule, zone = text(spec, "schedule"), spec.get("timeZone")
    if not schedule:
        causes.append(required("spec.schedule"))
    elif "TZ" in schedule:
        message = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        causes.append(invalid("spec.schedule", schedule, message))
    else:
        try:
            check_schedule(schedule)
        except ScheduleError as error:
            causes.append(invalid("spec.schedule", schedule, str(error)))
    if isinstance(zone, str):
        causes += [invalid("spec.timeZone", zone, each) for each in _check_time_zone(zone)]
    return causes


def _check_time_zone(name: str) -> Iterator[str]:
    if not name:
        yield "timeZone must be nil or non-empty string"
    elif len(name) > _LONGEST_ZONE or not _time_zone(name):
        yield f"unknown time zone {name}"
    else:
        if name.lower() == "local":
            yield "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        if name != "Local" and not _is_time_zone(name):
            yield f"unknown time zone {name}"


@cached(256)
def _is_time_zone(name: str) -> bool:
    """True for all names on a machine without a database of time zones."""
    return _has_time_zone(name) or not _has_time_zone("Etc/UTC")


def _has_time_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def _check_disruption_budget(obj: JsonObject) -> list[Cause]:
    spec = struct(obj, "spec")
    bounds = [name for name in ("minAvailable", "maxUnavailable") if spec.get(name) is not None]
    causes: list[Cause] = []
    if len(bounds) == 2:
        causes.append(invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set"))
    for name in bounds:
        causes += check_count_or_percent(spec[name], f"spec.{name}", at_most_all=True)
    causes += check_selector(spec.get("selector"), "spec.selector")
    return causes + check_choice(spec, "unhealthyPodEvictionPolicy", "spec", ("AlwaysAllow", "IfHealthyBudget"))


CHECKS = {
    ("apps", "Deployment"): _check_deployment,
    ("apps", "ReplicaSet"): _check_replica_set,
    ("apps", "StatefulSet"): _check_stateful_set,
    ("apps", "DaemonSet"): _check_daemon_set,
    ("apps", "ControllerRevision"): _check_controller_revision,
    ("", "ReplicationController"): _check_replication_controller,
    ("batch", "Job"): _check_job,
    ("batch", "CronJob"): _check_cron_job,
    ("policy", "PodDisruptionBudget"): _check_disruption_budget,
}
