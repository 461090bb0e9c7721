"""Why a kubelet evicts a Pod, in its words. Pure."""

from __future__ import annotations

from typing import Final

from homeostat.operators.workloads.api import PodSpec
from homeostat.operators.workloads.pods.state import Cause

EVICTED: Final = "Evicted"
_STORAGE: Final = "ephemeral-storage"
_RESOURCES: Final = {"evicted-memory": "memory", "evicted-storage": _STORAGE}


def eviction_cause(spec: PodSpec, outcome: str) -> Cause:
    """A container that fills its own limit of storage ends the Pod by itself; otherwise the Node was low on it."""
    resource = _RESOURCES[outcome]
    for each in spec.containers if resource == _STORAGE else ():
        if limit := each.resources.limits.get(_STORAGE):
            return Cause(EVICTED, f'Container {each.name} exceeded its local ephemeral storage limit "{limit}". ')
    return Cause(EVICTED, f"The node was low on resource: {resource}. ", is_disruption=True)
