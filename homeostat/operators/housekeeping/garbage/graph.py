"""The graph of owners and dependents, by uid. Pure: it takes events and returns the objects to reconcile now.

Only objects that matter to collection are held: those with owners, those named as owners, and those whose deletion
waits for their dependents. Everything else costs nothing. An owner that has been named but not seen yet is
`UNVERIFIED`; whoever keeps the graph looks it up. `ABSENT` is final, since a uid is never given twice.

Promises: links are symmetrical (a dependent is among its owner's dependents and nowhere else); after every change each
object whose verdict may differ has been named; a graph whose objects have all gone is empty.
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
    """Terminating, and waits until its dependents are gone."""
    ORPHANING = "Orphaning"
    """Terminating, and waits until its dependents do not name it any more."""


class Standing(Enum):
    """What an owner reference points at."""

    SOLID = "Solid"
    WAITING = "Waiting"
    """An owner that waits for its dependents to be deleted."""
    DANGLING = "Dangling"
    UNKNOWN = "Unknown"


_UNSEEN = frozenset({Phase.UNVERIFIED, Phase.ABSENT})
_WAITS = frozenset({Phase.FOREGROUND, Phase.ORPHANING})
_NOBODY: frozenset[str] = frozenset()


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


def phase_of(metadata: Metadata) -> Phase:
    if metadata.deletion_timestamp is None:
        return Phase.ALIVE
    finalizers = metadata.finalizers or ()
    if FOREGROUND_FINALIZER in finalizers:
        return Phase.FOREGROUND
    return Phase.ORPHANING if ORPHAN_FINALIZER in finalizers else Phase.DELETING


def refs_of(metadata: Metadata) -> tuple[Ref, ...]:
    # Most text here is shared by many objects (siblings name one owner), and interned text is freed with its last use.
    return tuple(
        Ref(intern(each.uid), kind_key(each.api_version, each.kind), intern(each.name), bool(each.block_owner_deletion))
        for each in metadata.owner_references or ()
    )


def node_of(key: str, metadata: Metadata) -> Node:
    """Of an object of the kind with this key."""
    return Node(key, intern(metadata.namespace), metadata.name, phase_of(metadata), refs_of(metadata))


class Graph:
    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    def get(self, uid: str) -> Node | None:
        return self._nodes.get(uid)

    def concerns(self, metadata: Metadata) -> bool:
        """Whether to put it can matter; most objects have no owners, and are nobody's."""
        return (
            metadata.owner_references is not None
            or metadata.deletion_timestamp is not None
            or metadata.uid in self._nodes
        )

    def dependents(self, uid: str) -> Collection[str]:
        node = self._nodes.get(uid)
        return _NOBODY if node is None else node.dependents or _NOBODY

    def blockers(self, uid: str) -> list[str]:
        """Dependents that must be gone before this object may go."""
        return [
            each
            for each in self.dependents(uid)
            if each != uid and any(ref.uid == uid and ref.blocks for ref in self._nodes[each].owners)
        ]

    def standing(self, ref: Ref, namespace: str) -> Standing:
        """Of an owner as a dependent in `namespace` names it."""
        node = self._nodes.get(ref.uid)
        if node is None or node.phase is Phase.UNVERIFIED or not _is_at(node, ref, namespace):
            return Standing.UNKNOWN
        if node.phase is Phase.ABSENT:
            return Standing.DANGLING
        return Standing.WAITING if node.phase is Phase.FOREGROUND else Standing.SOLID

    def put(self, uid: str, seen: Node) -> set[str]:
        """An object as it is now. Returns whom to look at."""
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
        """An object is gone, or was never there; `namespace` corrects where it was looked for. Whom to look at."""
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
        """Objects of a kind that were there when last heard of."""
        return {uid for uid, _ in self._seen(kind)}

    def unsettle(self, kind: str) -> set[str]:
        """A kind is not served any more: whether its objects exist cannot be told. Returns whom to look at."""
        visits: set[str] = set()
        for uid, node in list(self._seen(kind)):
            node.phase = Phase.UNVERIFIED
            visits |= self._relink(uid, node, ())
            if uid in self._nodes:
                self._drop_idle(uid)
        return visits

    def _seen(self, kind: str) -> Iterator[tuple[str, Node]]:
        return ((uid, node) for uid, node in self._nodes.items() if node.kind == kind and node.phase not in _UNSEEN)

    def _is_waiting(self, uid: str) -> bool:
        node = self._nodes.get(uid)
        return node is not None and node.phase is Phase.FOREGROUND

    def _relink(self, uid: str, node: Node, owners: tuple[Ref, ...]) -> set[str]:
        if owners == node.owners:
            return set()
        visits: set[str] = set()
        former = {ref.uid: ref for ref in node.owners}
        node.owners = owners
        for ref in owners:
            before = former.pop(ref.uid, None)
            if before != ref:
                visits |= self._link(uid, node, ref)
            if before is not None and before.blocks and not ref.blocks and self._is_waiting(ref.uid):
                visits.add(ref.uid)
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
            return set()  # It is being looked up; its dependents are named when that tells something new.
        return set() if self.standing(ref, node.namespace) is Standing.SOLID else {uid}

    def _drop_idle(self, uid: str) -> None:
        node = self._nodes[uid]
        if not node.owners and not node.dependents and node.phase not in _WAITS:
            del self._nodes[uid]


def _is_at(node: Node, ref: Ref, namespace: str) -> bool:
    """The node is what the reference names, seen from a namespace: owners are of the same one, or of none."""
    return node.name == ref.name and node.kind == ref.kind and node.namespace in {"", namespace}
