"""What a status may say: the rules of kube-apiserver for writes of the subresource.

They are for controllers, whose mistakes would otherwise show only on a cluster. The rules of a kind are imported with
the first write of its status. A status may stay as wrong as it was stored.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from homeostat.objects.errors import Cause
from homeostat.objects.json import JsonObject

__all__ = ["MODULES", "check_status"]

MODULES = {
    ("", "Node"): "cluster",
    ("", "PersistentVolumeClaim"): "cluster",
    ("", "Pod"): "pod",
    ("", "ReplicationController"): "counts",
    ("apps", "DaemonSet"): "counts",
    ("apps", "Deployment"): "counts",
    ("apps", "ReplicaSet"): "counts",
    ("apps", "StatefulSet"): "counts",
    ("autoscaling", "HorizontalPodAutoscaler"): "counts",
    ("batch", "Job"): "job",
    ("networking.k8s.io", "Ingress"): "cluster",
}
"""The module of this package whose `CHECKS` has the rules of a kind's status."""
_Check = Callable[[JsonObject, JsonObject], list[Cause]]
_found: dict[tuple[str, str], _Check | None] = {}


def check_status(group: str, kind: str, new: JsonObject, old: JsonObject) -> list[Cause]:
    """What is wrong with the new object's status and was not wrong before."""
    check = _check_of(group, kind)
    if check is None:
        return []
    causes = check(new, old)
    if not causes:
        return causes
    kept = set(check(old, old))
    return [each for each in causes if each not in kept]


def _check_of(group: str, kind: str) -> _Check | None:
    key = (group, kind)
    if key not in _found:
        module = MODULES.get(key)
        _found[key] = import_module(f"{__name__}.{module}").CHECKS[key] if module else None
    return _found[key]
