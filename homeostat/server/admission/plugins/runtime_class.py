"""RuntimeClasses: what a Pod of the class costs beside its containers, and where it may run."""

from __future__ import annotations

from homeostat.objects.json import JsonObject, decode_stored
from homeostat.server.kinds.builtins.members import items, struct
from homeostat.server.request.call import Call
from homeostat.store.base import Key

_RESOURCE = "runtimeclasses.node.k8s.io"
_NO_OVERHEAD = "Pod Overhead set without corresponding RuntimeClass defined Overhead"


def add_overhead(call: Call, pod: JsonObject) -> None:
    """Add what the Pod's class asks for, in place; 403 for an unknown class, and for what contradicts it."""
    spec, pod_name = pod["spec"], pod["metadata"].get("name", "")
    name = spec["runtimeClassName"]
    record = call.store.get(Key(_RESOURCE, "", str(name)))
    if record is None:
        raise call.forbidden(f'pod rejected: RuntimeClass "{name}" not found', pod_name)
    found = decode_stored(record.value)
    overhead, scheduling = struct(found, "overhead", "podFixed"), struct(found, "scheduling")
    if overhead:
        if spec.get("overhead") and spec["overhead"] != overhead:
            why = "Pod's Overhead doesn't match RuntimeClass's defined Overhead"
            raise call.forbidden(f"pod rejected: {why}", pod_name)
        spec["overhead"] = dict(overhead)
    elif spec.get("overhead"):
        raise call.forbidden(f"pod rejected: {_NO_OVERHEAD}", pod_name)
    selector, own = struct(scheduling, "nodeSelector"), struct(spec, "nodeSelector")
    for key, value in selector.items():
        if own.get(key, value) != value:
            why = f"conflict: the nodeSelector of the RuntimeClass has {key}={value}, that of the pod {key}={own[key]}"
            raise call.forbidden(why, pod_name)
    if selector:
        spec["nodeSelector"] = {**own, **selector}
    tolerations = items(spec, "tolerations")
    added = [each for each in items(scheduling, "tolerations") if each not in tolerations]
    if added:
        spec["tolerations"] = [*tolerations, *added]


def require_class(call: Call, pod: JsonObject) -> None:
    """403 for a valid Pod with an overhead that no class of it defines."""
    spec = struct(pod, "spec")
    if "overhead" in spec and not spec.get("runtimeClassName"):
        raise call.forbidden(f"pod rejected: {_NO_OVERHEAD}", pod["metadata"].get("name", ""))
