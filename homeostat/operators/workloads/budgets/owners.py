"""What the controllers of Pods want: the size of a Deployment instead of those of its ReplicaSets. Pure.

An owner counts if its group, kind, name and uid are those of the reference. Only a ReplicaSet leads to a further owner,
its Deployment, so references in a circle end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from homeostat.objects.kind import DEPLOYMENT, REPLICA_SET, STATEFUL_SET, Kind
from homeostat.operators.workloads.api import REPLICATION_CONTROLLER, Owner, Pod, Workload

OWNERS: Final = (DEPLOYMENT, REPLICA_SET, STATEFUL_SET, REPLICATION_CONTROLLER)
Find = Callable[[Kind, str, str], Workload | None]
"""The object of this kind, namespace and name."""


def wanted_sizes(pods: Iterable[Pod], find: Find) -> dict[str, int]:
    """The replicas that the controllers of the Pods want, by the uid of the controller."""
    sizes: dict[str, int] = {}
    seen: set[tuple[str, str]] = set()
    for pod in pods:
        owner, namespace = pod.metadata.controller, pod.metadata.namespace
        if owner is None or (namespace, owner.uid) in seen:
            continue
        seen.add((namespace, owner.uid))
        found = _counted(owner, namespace, find)
        if found is not None:
            sizes[found.metadata.uid] = found.spec.get("replicas", 1)
    return sizes


def _counted(owner: Owner, namespace: str, find: Find) -> Workload | None:
    """The controller whose size counts; None if the reference names none that exists."""
    kind = _kind_of(owner, OWNERS)
    found = None if kind is None else _owner(owner, kind, namespace, find)
    above = found.metadata.controller if found is not None and kind is REPLICA_SET else None
    if above is None or _kind_of(above, (DEPLOYMENT,)) is None:
        return found
    return _owner(above, DEPLOYMENT, namespace, find)


def _kind_of(owner: Owner, kinds: Iterable[Kind]) -> Kind | None:
    return next((each for each in kinds if owner.is_of(each)), None)


def _owner(owner: Owner, kind: Kind, namespace: str, find: Find) -> Workload | None:
    found = find(kind, namespace, owner.name)
    return found if found is not None and found.metadata.uid == owner.uid else None
