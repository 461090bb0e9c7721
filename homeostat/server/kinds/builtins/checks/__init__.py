"""Validation of the built-in kinds beyond their schema, as kube-apiserver does it.

These are the rules that people meet, with the messages and field paths of Kubernetes. `check` validates every write;
`check_update` adds what an update may not change. Neither raises on any JSON.
"""

from __future__ import annotations

from collections.abc import Callable

from homeostat.objects.errors import Cause
from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.checks import (
    access,
    admission,
    autoscaler,
    certificate,
    core,
    csi,
    device,
    flow,
    ingress,
    network,
    node,
    registration,
    storage,
    workload,
)
from homeostat.server.kinds.builtins.checks.pods import pod
from homeostat.server.kinds.builtins.immutable import check_update

__all__ = ["check", "check_update"]

_MODULES = (
    access,
    admission,
    autoscaler,
    certificate,
    core,
    csi,
    device,
    flow,
    ingress,
    network,
    node,
    pod,
    registration,
    storage,
    workload,
)
_CHECKS: dict[tuple[str, str], Callable[[JsonObject], list[Cause]]] = {
    key: function for module in _MODULES for key, function in module.CHECKS.items()
}


def check(group: str, kind: str, obj: JsonObject) -> list[Cause]:
    """What is invalid about the object; nothing for kinds without rules of their own."""
    found = _CHECKS.get((group, kind))
    return found(obj) if found else []
