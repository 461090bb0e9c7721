"""What the controllers of Pods want: the size of a Deployment instead of those of its ReplicaSets. Pure.

An owner counts if its group, kind, name and uid are those of the reference. Only a ReplicaSet leads to a further owner,
its Deployment, so references in a circle end. Of all other owners the server knows the size, if they have one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from homeostat.objects.kind import DEPLOYMENT, REPLICA_SET, STATEFUL_SET, Kind
from homeostat.operators.workloads.api import REPLICATION_CONTROLLER, Owner, Pod, Workload

OWNERS: Final = (DEPLOYMENT, REPLICA_SET, STATEFUL_SET, REPLICATION_CONTROLLER)
Find = Callable[[Kind, str, str], Workload | None]
"""The object of this kind, namespace and name."""


class Owners(NamedTuple):
    sizes: dict[str, int]
    """The replicas that the controllers of Pods want, by the uid of the controller."""
    others: tuple[Other, ...]
    """Controllers that are not among those that are watched."""
    has_unmanaged: bool
    """Whether there are Pods without a controller."""


class Other(NamedTuple):
    owner: Owner
    pod: str
    """The name of one of its Pods."""


NO_OWNERS: Final = Owners({}, (), has_unmanaged=False)


def owners_of(pods: Iterable[Pod], find: Find) -> Owners:
    sizes: dict[str, int] = {}
    others: list[Other] = []
    seen: set[str] = set()
    has_unmanaged = False
    for pod in pods:
        owner = pod.metadata.controller
        if owner is None:
            has_unmanaged = True
        elif owner.uid not in seen:
            seen.add(owner.uid)
            found = _counted(owner, pod.metadata.namespace, find)
            if found is None:
                others.append(Other(owner, pod.metadata.name))
            else:
                sizes[found.metadata.uid] = found.spec.get("replicas", 1)
    return Owners(sizes, tuple(others), has_unmanaged)


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
