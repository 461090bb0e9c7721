"""Defaults of Namespaces, Secrets, Nodes, LimitRanges and PriorityClasses."""

from __future__ import annotations

from base64 import b64encode

from homeostat.objects.json import Json, JsonObject
from homeostat.server.kinds.builtins.members import ensure_struct, items, set_default, struct, structs, text

_NAME_LABEL = "kubernetes.io/metadata.name"
_FINALIZER = "kubernetes"


def default_namespace(obj: JsonObject) -> None:
    metadata = ensure_struct(obj, "metadata")
    if metadata is not None and (name := text(metadata, "name")):
        labels = ensure_struct(metadata, "labels")
        if labels is not None:
            labels[_NAME_LABEL] = name


def start_namespace(obj: JsonObject) -> None:
    default_namespace(obj)
    # The finalizer keeps the namespace until its content is deleted; a terminating one must not get it back.
    spec = ensure_struct(obj, "spec")
    if spec is not None and not items(spec, "finalizers") and not struct(obj, "metadata").get("deletionTimestamp"):
        spec["finalizers"] = [_FINALIZER]
    if (status := ensure_struct(obj, "status")) is not None:
        set_default(status, "phase", "Active")


def _default_secret(obj: JsonObject) -> None:
    """`stringData` is write-only: it is encoded into `data` and removed."""
    set_default(obj, "type", "Opaque")
    if isinstance(plain := obj.get("stringData"), dict):
        del obj["stringData"]
        data = ensure_struct(obj, "data") if plain else None
        if data is not None:
            # A new one: a patched object shares with the stored one what the patch did not name.
            obj["data"] = {**data, **{key: _encoded(value) for key, value in plain.items()}}


def _encoded(value: Json) -> Json:
    return b64encode(value.encode()).decode() if isinstance(value, str) else value


def _default_node(obj: JsonObject) -> None:
    """`podCIDR` is the first of `podCIDRs`."""
    spec = struct(obj, "spec")
    if text(spec, "podCIDR") and (not items(spec, "podCIDRs") or spec["podCIDRs"][0] != spec["podCIDR"]):
        spec["podCIDRs"] = [spec["podCIDR"]]
    elif not text(spec, "podCIDR") and items(spec, "podCIDRs"):
        spec["podCIDR"] = spec["podCIDRs"][0]
    status = struct(obj, "status")
    if status.get("allocatable") is None and isinstance(status.get("capacity"), dict):
        status["allocatable"] = dict(status["capacity"])


def _default_limit_range(obj: JsonObject) -> None:
    for limit in structs(struct(obj, "spec"), "limits"):
        if limit.get("type") != "Container":
            continue
        default, request = ensure_struct(limit, "default"), ensure_struct(limit, "defaultRequest")
        if default is None or request is None:
            continue
        for target, source in ((default, struct(limit, "max")), (request, default), (request, struct(limit, "min"))):
            for name, value in source.items():
                target.setdefault(name, value)


def _default_resource_quota(obj: JsonObject) -> None:
    ensure_struct(obj, "spec")


def _default_priority_class(obj: JsonObject) -> None:
    if obj.get("preemptionPolicy") is None:
        obj["preemptionPolicy"] = "PreemptLowerPriority"


DEFAULTS = {
    ("", "Namespace"): default_namespace,
    ("", "Secret"): _default_secret,
    ("", "Node"): _default_node,
    ("", "LimitRange"): _default_limit_range,
    ("", "ResourceQuota"): _default_resource_quota,
    ("scheduling.k8s.io", "PriorityClass"): _default_priority_class,
}
