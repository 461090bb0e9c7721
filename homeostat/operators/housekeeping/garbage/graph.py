"""The graph of owners and dependents, by uid. Pure: it takes events and returns the objects to reconcile now.

It holds only objects that matter to garbage collection: objects with owners, owners, and objects whose deletion waits
for their dependents. Other objects cost nothing. An owner that is referenced but was not seen yet is `UNVERIFIED`, and
the collector looks it up. `ABSENT` is final, because a uid is never reused.

Promises: links are symmetrical (a dependent is among the dependents of its owners and nowhere else); every change
returns each object whose verdict may have changed; a graph whose objects are all deleted is empty.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from enum import Enum
from sys import intern

import msgspec

from homeostat.operators.housekeeping.metadata.kinds import kind_key
from homeostat.operators.housekeeping.metadata.metadata import Metadata

FOREGROUND_FINALIZER = "foregroundDeletion"
ORPHAN_FINALIZER = "orphan"


class Phase(Enum):
    UNVERIFIED = "Unverified"
    ABSENT = "Absent"
    ALIVE = "Alive"
    DELETING = "Deleting"
    FOREGROUND = "Foreground"
    """Terminating; waits for the deletion of its dependents."""
    ORPHANING = "Orphaning"
    """Terminating; waits until no dependent references it."""


class Standing(Enum):
    """The state of the owner that a reference names."""

    SOLID = "Solid"
    WAITING = "Waiting"
    """An owner that waits for its dependents to be deleted."""
    DANGLING = "Dangling"
    UNKNOWN = "Unknown"


_UNSEEN = frozenset({Phase.UNVERIFIED, Phase.ABSENT})
_WAITS = frozenset({Phase.FOREGROUND, Phase.ORPHANING})


class Ref(msgspec.Struct, frozen=True, gc=False):
    uid: str
    kind: str
    name: str
    blocks: bool = False


class Node(msgspec.Struct, gc=False):
    kind: str
    namespace: str
    name: str
    phase: Phase
    owners: tuple[Ref, ...] = ()
    dependents: set[str] | None = None
    blockers: set[str] | None = None
    """The dependents whose reference has `blockOwnerDeletion`."""


def phase_of(metadata: Metadata) -> Phase:
    if metadata.deletion_timestamp is None:
        return Phase.ALIVE
    finalizers = metadata.finalizers or ()
    if FOREGROUND_FINALIZER in finalizers:
        return Phase.FOREGROUND
    return Phase.ORPHANING if ORPHAN_FINALIZER in finalizers else Phase.DELETING


def refs_of(metadata: Metadata) -> tuple[Ref, ...]:
    # Many objects share these texts (siblings have the same owner). Interned text is freed with its last use.
    return tuple(
        Ref(intern(each.uid), kind_key(each.api_version, each.kind), intern(each.name), bool(each.block_owner_deletion))
        for each in metadata.owner_references or ()
    )


def node_of(key: str, metadata: Metadata) -> Node:
    """The node of an object of the kind with this key."""
    return Node(key, intern(metadata.namespace), metadata.name, phase_of(metadata), refs_of(metadata))


class Graph:
    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    def get(self, uid: str) -> Node | None:
        return self._nodes.get(uid)

    def concerns(self, metadata: Metadata) -> bool:
        """Whether the object matters to the graph. Most objects neither have owners nor are owners."""
        return (
            metadata.owner_references is not None
            or metadata.deletion_timestamp is not None
            or metadata.uid in self._nodes
        )

    def dependents(self, uid: str) -> list[str]:
        """The dependents of the object. A reference to an owner in another namespace does not count."""
        node = self._nodes.get(uid)
        return [] if node is None else self._in_reach(node, node.dependents)

    def blockers(self, uid: str) -> list[str]:
        """The dependents that have to be deleted before this object."""
        node = self._nodes.get(uid)
        return [] if node is None else [each for each in self._in_reach(node, node.blockers) if each != uid]

    def is_stranger(self, uid: str, owner: str) -> bool:
        """Whether the object references an owner that exists in another namespace."""
        found = self._nodes.get(owner)
        if found is None or found.phase in _UNSEEN or uid not in (found.dependents or ()):
            return False
        return found.namespace not in {"", self._nodes[uid].namespace}

    def standing(self, ref: Ref, namespace: str) -> Standing:
        """The standing of an owner that a dependent in `namespace` references."""
        node = self._nodes.get(ref.uid)
        if node is None or node.phase is Phase.UNVERIFIED or not _is_at(node, ref, namespace):
            return Standing.UNKNOWN
        if node.phase is Phase.ABSENT:
            return Standing.DANGLING
        return Standing.WAITING if node.phase is Phase.FOREGROUND else Standing.SOLID

    def put(self, uid: str, seen: Node) -> set[str]:
        """Adds or updates an object. Returns the objects to reconcile."""
        node = self._nodes.get(uid)
        if node is None:
            if not seen.owners and seen.phase not in _WAITS:
                return set()
            uid = intern(uid)
            node = self._nodes[uid] = Node(seen.kind, seen.namespace, seen.name, Phase.UNVERIFIED)
        has_moved = (node.kind, node.namespace, node.name) != (seen.kind, seen.namespace, seen.name)
        starts_waiting = seen.phase in _WAITS and node.phase is not seen.phase
        revives = node.phase is Phase.ABSENT
        node.kind, node.namespace, node.name, node.phase = seen.kind, seen.namespace, seen.name, seen.phase
        visits = self._relink(uid, node, seen.owners)
        if has_moved or revives or (starts_waiting and seen.phase is Phase.FOREGROUND):
            visits |= set(node.dependents or ())
        if starts_waiting:
            visits.add(uid)
        self._drop_idle(uid)
        return visits

    def remove(self, uid: str, *, namespace: str | None = None) -> set[str]:
        """Removes an object that was deleted or never existed; `namespace` corrects the one where it was searched for.
        Returns the objects to reconcile.
        """
        node = self._nodes.get(uid)
        if node is None:
            return set()
        if namespace is not None:
            node.namespace = namespace
        visits = {ref.uid for ref in node.owners if self._is_waiting(ref.uid)} | set(node.dependents or ())
        node.phase = Phase.ABSENT
        self._relink(uid, node, ())
        self._drop_idle(uid)
        return visits - {uid}

    def seen(self, kind: str) -> set[str]:
        """The objects of a kind that exist as far as is known."""
        return {uid for uid, _ in self._seen(kind)}

    def unsettle(self, kind: str) -> set[str]:
        """A kind is not served any more, so its objects may not exist. Returns the objects to reconcile."""
        visits: set[str] = set()
        for uid, node in list(self._seen(kind)):
            node.phase = Phase.UNVERIFIED
            visits |= self._relink(uid, node, ())
            if uid in self._nodes:
                self._drop_idle(uid)
        return visits

    def _seen(self, kind: str) -> Iterator[tuple[str, Node]]:
        return ((uid, node) for uid, node in self._nodes.items() if node.kind == kind and node.phase not in _UNSEEN)

    def _in_reach(self, owner: Node, dependents: Collection[str] | None) -> list[str]:
        if not owner.namespace:
            return list(dependents or ())
        return [each for each in dependents or () if self._nodes[each].namespace == owner.namespace]

    def _is_waiting(self, uid: str) -> bool:
        node = self._nodes.get(uid)
        return node is not None and node.phase is Phase.FOREGROUND

    def _relink(self, uid: str, node: Node, owners: tuple[Ref, ...]) -> set[str]:
        if owners == node.owners:
            return set()
        visits: set[str] = set()
        former = {ref.uid: ref for ref in node.owners}
        blocked = {ref.uid for ref in owners if ref.blocks}
        unblocked = {ref.uid for ref in node.owners if ref.blocks} - blocked
        node.owners = owners
        for ref in owners:
            if former.pop(ref.uid, None) != ref:
                visits |= self._link(uid, node, ref)
        for owner_uid in blocked:
            owner = self._nodes[owner_uid]
            if owner.blockers is None:
                owner.blockers = set()
            owner.blockers.add(uid)
        for owner_uid in unblocked:
            blockers = self._nodes[owner_uid].blockers
            assert blockers is not None
            blockers.discard(uid)
            if self._is_waiting(owner_uid):
                visits.add(owner_uid)
        for owner_uid in former:
            if self._is_waiting(owner_uid):
                visits.add(owner_uid)
            owner = self._nodes[owner_uid]
            assert owner.dependents is not None
            owner.dependents.discard(uid)
            if owner_uid != uid:
                self._drop_idle(owner_uid)
        return visits

    def _link(self, uid: str, node: Node, ref: Ref) -> set[str]:
        owner = self._nodes.get(ref.uid)
        is_new = owner is None
        if owner is None:
            owner = self._nodes[ref.uid] = Node(ref.kind, node.namespace, ref.name, Phase.UNVERIFIED)
        if owner.dependents is None:
            owner.dependents = set()
        owner.dependents.add(uid)
        if is_new:
            return {ref.uid}
        if owner.phase is Phase.UNVERIFIED and _is_at(owner, ref, node.namespace):
            return set()  # The lookup is under way and returns the dependents if it finds a change.
        return set() if self.standing(ref, node.namespace) is Standing.SOLID else {uid}

    def _drop_idle(self, uid: str) -> None:
        node = self._nodes[uid]
        if not node.owners and not node.dependents and node.phase not in _WAITS:
            del self._nodes[uid]


def _is_at(node: Node, ref: Ref, namespace: str) -> bool:
    """Whether the reference of a dependent in `namespace` names the node: owners are in the same namespace or have
    none.
    """
    return node.name == ref.name and node.kind == ref.kind and node.namespace in {"", namespace}
