"""The tolerations that every Pod has: it stays five minutes on a Node that is not ready or unreachable. Pure."""

from __future__ import annotations

from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.members import items, struct, structs, text

_KEYS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_SECONDS = 300
_EFFECT = "NoExecute"


def tolerate_outages(pod: JsonObject) -> None:
    """Add the tolerations that the Pod lacks. In place."""
    spec = struct(pod, "spec")
    tolerations = structs(spec, "tolerations")
    added = [
        {"key": key, "operator": "Exists", "effect": _EFFECT, "tolerationSeconds": _SECONDS}
        for key in _KEYS
        if not any(_covers(each, key) for each in tolerations)
    ]
    if added:
        spec["tolerations"] = [*items(spec, "tolerations"), *added]


def _covers(toleration: JsonObject, key: str) -> bool:
    return text(toleration, "key") in ("", key) and text(toleration, "effect") in ("", _EFFECT)
