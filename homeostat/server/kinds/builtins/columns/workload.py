"""The columns of what runs pods: apps, batch, ReplicationController, PodDisruptionBudget."""

from __future__ import annotations

from homeostat.objects.json import JsonObject
from homeostat.objects.time.age import epoch_of, human_duration, since
from homeostat.server.kinds.builtins.columns.column import (
    AGE,
    CONTAINERS,
    IMAGES,
    NAME,
    NONE,
    SELECTOR,
    UNSET,
    Cell,
    Column,
    Printer,
    age_of,
    container_cells,
    count,
    flag,
    is_terminating,
    name_of,
    shown,
    wide,
)
from homeostat.server.kinds.builtins.label_selector import print_labels, print_selector
from homeostat.server.kinds.builtins.members import integer, items, struct, structs, text


def _deployment(obj: JsonObject) -> list[Cell]:
    spec, status = struct(obj, "spec"), struct(obj, "status")
    return [
        name_of(obj),
        f"{integer(status, 'readyReplicas')}/{integer(spec, 'replicas')}",
        integer(status, "updatedReplicas"),
        integer(status, "availableReplicas"),
        age_of(obj),
        *container_cells(struct(spec, "template")),
        print_selector(spec.get("selector")),
    ]


def _replica_set(obj: JsonObject) -> list[Cell]:
    spec, status = struct(obj, "spec"), struct(obj, "status")
    return [
        name_of(obj),
        integer(spec, "replicas"),
        integer(status, "replicas"),
        integer(status, "readyReplicas"),
        age_of(obj),
        *container_cells(struct(spec, "template")),
        print_selector(spec.get("selector")),
    ]


def _replication_controller(obj: JsonObject) -> list[Cell]:
    # Its selector is a plain map of labels.
    return [*_replica_set(obj)[:-1], print_labels(struct(obj, "spec").get("selector"))]


def _stateful_set(obj: JsonObject) -> list[Cell]:
    spec = struct(obj, "spec")
    ready = integer(struct(obj, "status"), "readyReplicas")
    cells = container_cells(struct(spec, "template"))
    return [name_of(obj), f"{ready}/{integer(spec, 'replicas')}", age_of(obj), *cells]


def _daemon_set(obj: JsonObject) -> list[Cell]:
    spec, status = struct(obj, "spec"), struct(obj, "status")
    return [
        name_of(obj),
        integer(status, "desiredNumberScheduled"),
        integer(status, "currentNumberScheduled"),
        integer(status, "numberReady"),
        integer(status, "updatedNumberScheduled"),
        integer(status, "numberAvailable"),
        print_labels(struct(spec, "template", "spec").get("nodeSelector")),
        age_of(obj),
        *container_cells(struct(spec, "template")),
        print_selector(spec.get("selector")),
    ]


def _controller_revision(obj: JsonObject) -> list[Cell]:
    owners = structs(struct(obj, "metadata"), "ownerReferences")
    owner = next((each for each in owners if each.get("controller") is True), None)
    name = NONE
    if owner is not None:
        group = text(owner, "apiVersion").rpartition("/")[0]
        kind = text(owner, "kind")
        name = f"{(f'{kind}.{group}' if group else kind).lower()}/{text(owner, 'name')}"
    return [name_of(obj), name, integer(obj, "revision"), age_of(obj)]


def _job(obj: JsonObject) -> list[Cell]:
    spec = struct(obj, "spec")
    return [
        name_of(obj),
        _job_status(obj),
        _completions(spec, struct(obj, "status")),
        _job_duration(struct(obj, "status")),
        age_of(obj),
        *container_cells(struct(spec, "template")),
        print_selector(spec.get("selector")),
    ]


def _job_status(obj: JsonObject) -> str:
    conditions = structs(struct(obj, "status"), "conditions")
    true = {text(each, "type") for each in conditions if each.get("status") == "True"}
    if "Complete" in true:
        return "Complete"
    if "Failed" in true:
        return "Failed"
    if is_terminating(obj):
        return "Terminating"
    return next((each for each in ("Suspended", "FailureTarget") if each in true), "Running")


def _completions(spec: JsonObject, status: JsonObject) -> str:
    succeeded = integer(status, "succeeded")
    if spec.get("completions") is not None:
        return f"{succeeded}/{integer(spec, 'completions')}"
    parallelism = integer(spec, "parallelism")
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _job_duration(status: JsonObject) -> Cell:
    started, completed = epoch_of(status.get("startTime")), epoch_of(status.get("completionTime"))
    if started is None:
        return ""
    return since(status.get("startTime")) if completed is None else human_duration(completed - started)


def _cron_job(obj: JsonObject) -> list[Cell]:
    spec, status = struct(obj, "spec"), struct(obj, "status")
    job = struct(spec, "jobTemplate", "spec")
    last = status.get("lastScheduleTime")
    return [
        name_of(obj),
        text(spec, "schedule"),
        text(spec, "timeZone") or NONE,
        UNSET if spec.get("suspend") is None else str(bool(spec["suspend"])),
        len(items(status, "active")),
        since(last) if last is not None else NONE,
        age_of(obj),
        *container_cells(struct(job, "template")),
        print_selector(job.get("selector")),
    ]


def _disruption_budget(obj: JsonObject) -> list[Cell]:
    spec = struct(obj, "spec")
    bounds = ["N/A" if spec.get(each) is None else str(spec[each]) for each in ("minAvailable", "maxUnavailable")]
    return [name_of(obj), *bounds, integer(struct(obj, "status"), "disruptionsAllowed"), age_of(obj)]


_TEMPLATE = (CONTAINERS, IMAGES)
_REPLICAS = (
    NAME,
    count("Desired", "How many pods are wanted."),
    count("Current", "How many pods there are."),
    count("Ready", "How many pods are ready."),
    AGE,
    *_TEMPLATE,
    SELECTOR,
)
_READY = shown("Ready", "How many pods are ready, of how many.")


def _daemon_set_columns() -> tuple[Column, ...]:
    counts = [count(each) for each in ("Desired", "Current", "Ready", "Up-to-date", "Available")]
    return (NAME, *counts, shown("Node Selector", "Which nodes get a pod."), AGE, *_TEMPLATE, SELECTOR)


PRINTERS = {
    ("apps", "Deployment"): Printer(
        (NAME, _READY, shown("Up-to-date"), shown("Available"), AGE, *_TEMPLATE, SELECTOR), _deployment
    ),
    ("apps", "ReplicaSet"): Printer(_REPLICAS, _replica_set),
    ("", "ReplicationController"): Printer(_REPLICAS, _replication_controller),
    ("apps", "StatefulSet"): Printer((NAME, _READY, AGE, *_TEMPLATE), _stateful_set),
    ("apps", "DaemonSet"): Printer(_daemon_set_columns(), _daemon_set),
    ("apps", "ControllerRevision"): Printer(
        (NAME, shown("Controller", "What made the revision."), shown("Revision"), AGE), _controller_revision
    ),
    ("batch", "Job"): Printer(
        (
            NAME,
            shown("Status", "The state of the job in one word."),
            shown("Completions", "How many pods have succeeded, of how many."),
            shown("Duration", "How long the job has taken."),
            AGE,
            *_TEMPLATE,
            SELECTOR,
        ),
        _job,
    ),
    ("batch", "CronJob"): Printer(
        (
            NAME,
            shown("Schedule"),
            shown("Timezone"),
            flag("Suspend"),
            count("Active", "How many jobs run now."),
            shown("Last Schedule", "How long ago a job was started."),
            AGE,
            *_TEMPLATE,
            wide("Selector"),
        ),
        _cron_job,
    ),
    ("policy", "PodDisruptionBudget"): Printer(
        (NAME, shown("Min Available"), shown("Max Unavailable"), count("Allowed Disruptions"), AGE),
        _disruption_budget,
    ),
}
