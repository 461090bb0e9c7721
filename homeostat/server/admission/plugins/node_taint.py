"""TaintNodesByCondition: a new Node gets no Pods until a controller sees that it is ready. Pure."""

from __future__ import annotations

from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.members import ensure_struct, items, structs

_KEY, _EFFECT = "node.kubernetes.io/not-ready", "NoSchedule"


def taint_new_node(node: JsonObject) -> None:
    """Add the taint, if the Node lacks it. In place."""
    spec = ensure_struct(node, "spec")
    if spec is None:
        return
    if not any(each.get("key") == _KEY and each.get("effect") == _EFFECT for each in structs(spec, "taints")):
        spec["taints"] = [*items(spec, "taints"), {"key": _KEY, "effect": _EFFECT}]
