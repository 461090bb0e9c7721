"""The columns of Pods and PodTemplates.

STATUS is one word for the whole pod: its phase, unless the state of a container is more specific.
"""

from __future__ import annotations

from homeostat.objects.json import JsonObject
from homeostat.objects.time.age import Since, epoch_of
from homeostat.server.kinds.builtins.columns.column import (
    AGE,
    NAME,
    NONE,
    Cell,
    Printer,
    age_of,
    container_cells,
    is_terminating,
    name_of,
    shown,
    wide,
)
from homeostat.server.kinds.builtins.label_selector import print_labels
from homeostat.server.kinds.builtins.members import integer, items, struct, structs, text

_NODE_LOST = "NodeLost"
_FINISHED = ("Succeeded", "Failed")


class _Totals:
    """The totals over the containers of a pod."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.ready = 0
        self.restarts = 0
        self.restarted_at: float | None = None

    def count_restarts(self, status: JsonObject) -> None:
        self.restarts += integer(status, "restartCount")
        finished = epoch_of(struct(status, "lastState", "terminated").get("finishedAt"))
        if finished is not None and (self.restarted_at is None or finished > self.restarted_at):
            self.restarted_at = finished

    @property
    def restarts_cell(self) -> Cell:
        if self.restarts and self.restarted_at is not None:
            return Since(self.restarted_at, f"{self.restarts} (", " ago)")
        return str(self.restarts)


_ENDS = {"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}


def _row_conditions(pod: JsonObject) -> list[JsonObject]:
    phase = text(struct(pod, "status"), "phase")
    if phase not in _ENDS:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": _ENDS[phase]}]


def _pod(obj: JsonObject) -> list[Cell]:
    spec, status = struct(obj, "spec"), struct(obj, "status")
    sidecars = {text(each, "name") for each in structs(spec, "initContainers") if _is_sidecar(each)}
    totals = _tally(spec, status, sidecars)
    if is_terminating(obj):
        if text(status, "reason") == _NODE_LOST:
            totals.reason = "Unknown"
        elif text(status, "phase") not in _FINISHED:
            totals.reason = "Terminating"
    total = len(items(spec, "containers")) + len(sidecars)
    addresses = structs(status, "podIPs")
    return [
        name_of(obj),
        f"{totals.ready}/{total}",
        totals.reason,
        totals.restarts_cell,
        age_of(obj),
        (text(addresses[0], "ip") if addresses else "") or NONE,
        text(spec, "nodeName") or NONE,
        text(status, "nominatedNodeName") or NONE,
        _readiness_gates(spec, status),
    ]


def _is_sidecar(container: JsonObject) -> bool:
    return container.get("restartPolicy") == "Always"


def _condition(status: JsonObject, kind: str) -> JsonObject:
    return next((each for each in structs(status, "conditions") if each.get("type") == kind), {})


def _tally(spec: JsonObject, status: JsonObject, sidecars: set[str]) -> _Totals:
    totals = _Totals(text(status, "reason") or text(status, "phase"))
    if text(_condition(status, "PodScheduled"), "reason") == "SchedulingGated":
        totals.reason = "SchedulingGated"
    init_statuses = structs(status, "initContainerStatuses")
    is_initializing = _count_init(totals, init_statuses, sidecars, len(items(spec, "initContainers")))
    if not is_initializing or _condition(status, "Initialized").get("status") == "True":
        _tally_containers(totals, status, [each for each in init_statuses if text(each, "name") in sidecars])
    return totals


def _count_init(totals: _Totals, statuses: list[JsonObject], sidecars: set[str], total: int) -> bool:
    """Count the init containers up to the one that is not done; whether there is such a one."""
    for index, status in enumerate(statuses):
        totals.count_restarts(status)
        state = struct(status, "state")
        terminated = state.get("terminated")
        if isinstance(terminated, dict) and not integer(terminated, "exitCode"):
            continue
        if text(status, "name") in sidecars and status.get("started") is True:
            totals.ready += status.get("ready") is True
            continue
        waiting = text(struct(state, "waiting"), "reason")
        if isinstance(terminated, dict):
            totals.reason = f"Init:{_ended(terminated)}"
        elif waiting and waiting != "PodInitializing":
            totals.reason = f"Init:{waiting}"
        else:
            totals.reason = f"Init:{index}/{total}"
        return True
    return False


def _tally_containers(totals: _Totals, status: JsonObject, sidecars: list[JsonObject]) -> None:
    # Once the pod runs, the restarts of init containers that are done no longer count.
    totals.restarts, totals.restarted_at = 0, None
    for each in sidecars:
        totals.count_restarts(each)
    has_running = False
    for each in reversed(structs(status, "containerStatuses")):
        totals.count_restarts(each)
        state = struct(each, "state")
        if waiting := text(struct(state, "waiting"), "reason"):
            totals.reason = waiting
        elif isinstance(state.get("terminated"), dict):
            totals.reason = _ended(state["terminated"])
        elif each.get("ready") is True and isinstance(state.get("running"), dict):
            has_running = True
            totals.ready += 1
    if totals.reason == "Completed" and has_running:
        totals.reason = "Running" if _condition(status, "Ready").get("status") == "True" else "NotReady"


def _ended(terminated: JsonObject) -> str:
    if reason := text(terminated, "reason"):
        return reason
    if signal := integer(terminated, "signal"):
        return f"Signal:{signal}"
    return f"ExitCode:{integer(terminated, 'exitCode')}"


def _readiness_gates(spec: JsonObject, status: JsonObject) -> str:
    gates = structs(spec, "readinessGates")
    if not gates:
        return NONE
    passed = sum(_condition(status, text(each, "conditionType")).get("status") == "True" for each in gates)
    return f"{passed}/{len(gates)}"


def _pod_template(obj: JsonObject) -> list[Cell]:
    template = struct(obj, "template")
    return [name_of(obj), *container_cells(template), print_labels(struct(template, "metadata").get("labels"))]


PRINTERS = {
    ("", "Pod"): Printer(
        (
            NAME,
            shown("Ready", "How many of the pod's containers accept traffic."),
            shown("Status", "The state of the pod in one word."),
            shown("Restarts", "How often containers were restarted, and when last."),
            AGE,
            wide("IP", "The pod's first address."),
            wide("Node", "The node that the pod is bound to."),
            wide("Nominated Node", "The node that pods are evicted from for this pod."),
            wide("Readiness Gates", "How many of the pod's extra readiness conditions hold."),
        ),
        _pod,
        _row_conditions,
    ),
    ("", "PodTemplate"): Printer(
        (NAME, shown("Containers"), shown("Images"), shown("Pod Labels", "The labels of the pods it makes.")),
        _pod_template,
    ),
}
