"""The columns of the core kinds that are neither pods, services nor volumes, and of leases and priority classes."""

from __future__ import annotations

from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.columns.column import (
    AGE,
    CREATED_AT,
    NAME,
    NONE,
    Cell,
    Printer,
    age_of,
    count,
    flag,
    name_of,
    shown,
    wide,
)
from homeostat.server.kinds.builtins.members import integer, items, struct, structs, text

_ROLE_PREFIX, _ROLE_LABEL = "node-role.kubernetes.io/", "kubernetes.io/role"
_UNKNOWN = "<unknown>"


def _namespace(obj: JsonObject) -> list[Cell]:
    return [name_of(obj), text(struct(obj, "status"), "phase"), age_of(obj)]


def _config_map(obj: JsonObject) -> list[Cell]:
    return [name_of(obj), len(struct(obj, "data")) + len(struct(obj, "binaryData")), age_of(obj)]


def _secret(obj: JsonObject) -> list[Cell]:
    return [name_of(obj), text(obj, "type"), len(struct(obj, "data")), age_of(obj)]


def _service_account(obj: JsonObject) -> list[Cell]:
    return [name_of(obj), len(items(obj, "secrets")), age_of(obj)]


def _node(obj: JsonObject) -> list[Cell]:
    status = struct(obj, "status")
    info = struct(status, "nodeInfo")
    return [
        name_of(obj),
        _node_status(obj),
        ",".join(_node_roles(struct(obj, "metadata", "labels"))) or NONE,
        age_of(obj),
        text(info, "kubeletVersion"),
        _node_address(status, "InternalIP"),
        _node_address(status, "ExternalIP"),
        *(text(info, each) or _UNKNOWN for each in ("osImage", "kernelVersion", "containerRuntimeVersion")),
    ]


def _node_status(obj: JsonObject) -> str:
    conditions = structs(struct(obj, "status"), "conditions")
    ready = next((each for each in reversed(conditions) if each.get("type") == "Ready"), None)
    word = "Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"
    return f"{word},SchedulingDisabled" if struct(obj, "spec").get("unschedulable") is True else word


def _node_roles(labels: JsonObject) -> list[str]:
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    roles.add(text(labels, _ROLE_LABEL))
    return sorted(roles - {""})


def _node_address(status: JsonObject, kind: str) -> str:
    found = (text(each, "address") for each in structs(status, "addresses") if each.get("type") == kind)
    return next(found, NONE)


def _resource_quota(obj: JsonObject) -> list[Cell]:
    status = struct(obj, "status")
    hard, used = struct(status, "hard"), struct(status, "used")
    printed: dict[bool, list[str]] = {True: [], False: []}
    for resource in sorted(hard):
        printed[resource.startswith("limits.")].append(f"{resource}: {used.get(resource, '0')}/{hard[resource]}")
    return [name_of(obj), ", ".join(printed[False]), ", ".join(printed[True]), age_of(obj)]


def _lease(obj: JsonObject) -> list[Cell]:
    return [name_of(obj), text(struct(obj, "spec"), "holderIdentity"), age_of(obj)]


def _priority_class(obj: JsonObject) -> list[Cell]:
    is_default = obj.get("globalDefault") is True
    return [name_of(obj), integer(obj, "value"), is_default, age_of(obj), text(obj, "preemptionPolicy")]


def created_at(obj: JsonObject) -> list[Cell]:
    """The row of kinds that have no columns of their own."""
    return [name_of(obj), text(struct(obj, "metadata"), "creationTimestamp")]


def _component(obj: JsonObject) -> list[Cell]:
    healthy = next((each for each in structs(obj, "conditions") if each.get("type") == "Healthy"), None)
    if healthy is None:
        return [name_of(obj), "Unknown", "", ""]
    word = "Healthy" if healthy.get("status") == "True" else "Unhealthy"
    return [name_of(obj), word, text(healthy, "message"), text(healthy, "error")]


PRINTERS = {
    ("", "ComponentStatus"): Printer((NAME, shown("Status"), shown("Message"), shown("Error")), _component),
    ("", "Namespace"): Printer((NAME, shown("Status"), AGE), _namespace),
    ("", "ConfigMap"): Printer((NAME, shown("Data", "How many keys it has."), AGE), _config_map),
    ("", "Secret"): Printer((NAME, shown("Type"), shown("Data", "How many keys it has."), AGE), _secret),
    ("", "ServiceAccount"): Printer((NAME, shown("Secrets"), AGE), _service_account),
    ("", "Node"): Printer(
        (
            NAME,
            shown("Status", "Whether the node is ready and accepts pods."),
            shown("Roles"),
            AGE,
            shown("Version", "The kubelet's version."),
            wide("Internal-IP"),
            wide("External-IP"),
            wide("OS-Image"),
            wide("Kernel-Version"),
            wide("Container-Runtime"),
        ),
        _node,
    ),
    ("", "ResourceQuota"): Printer(
        (NAME, shown("Request", "Used and allowed, of requests."), shown("Limit", "Used and allowed, of limits."), AGE),
        _resource_quota,
    ),
    ("", "LimitRange"): Printer((NAME, CREATED_AT), created_at),
    ("coordination.k8s.io", "Lease"): Printer((NAME, shown("Holder"), AGE), _lease),
    ("scheduling.k8s.io", "PriorityClass"): Printer(
        (NAME, count("Value"), flag("Global-Default"), AGE, shown("PreemptionPolicy")), _priority_class
    ),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): Printer((NAME, CREATED_AT), created_at),
}
