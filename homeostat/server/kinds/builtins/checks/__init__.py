"""What kube-apiserver would refuse of each built-in kind, beyond what its schema says.

The rules that people meet, in Kubernetes' words and with its field paths. `check` is for every write, `check_update`
says what a write may not change and comes on top of it. Neither raises on any JSON.
"""

from __future__ import annotations

from collections.abc import Callable

from homeostat.objects.errors import Cause
from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.checks import (
    access,
    admission,
    autoscaler,
    core,
    ingress,
    network,
    pod,
    storage,
    workload,
)
from homeostat.server.kinds.builtins.immutable import check_update

__all__ = ["check", "check_update"]

_CHECKS: dict[tuple[str, str], Callable[[JsonObject], list[Cause]]] = {
    key: function
    for module in (access, admission, autoscaler, core, ingress, network, pod, storage, workload)
    for key, function in module.CHECKS.items()
}


def check(group: str, kind: str, obj: JsonObject) -> list[Cause]:
    """The causes against storing the object; none for kinds that have no rules of their own."""
    found = _CHECKS.get((group, kind))
    return found(obj) if found else []
