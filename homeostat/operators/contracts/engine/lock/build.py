"""Builds a lock: all transitive dependencies, configurations and policies of a contract. Pure.

The caller fetches bundles: `build_lock` returns the missing places, the caller fetches them and calls it again. Local
dependencies are relative to the root at every depth; local references are relative to the bundle that declares them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from homeostat.operators.contracts.engine.bundle.bundle import Bundle, Unresolved, content_hash
from homeostat.operators.contracts.engine.document.contract import Contract
from homeostat.operators.contracts.engine.graph.graph import Graph, Node, resolve
from homeostat.operators.contracts.engine.lock.lock import (
    Lock,
    LockedDependency,
    LockedReference,
    LockError,
    Named,
    make_lock,
)
from homeostat.operators.contracts.engine.reference import is_oci, location

MAX_REFERENCES: Final = 1000


class Place(msgspec.Struct, frozen=True):
    """A bundle to fetch: from a directory if `path` is set, else from a registry. The constraint selects the version of
    a dependency; configurations and policies have none.
    """

    ref: str = ""
    constraint: str = ""
    path: str = ""
    """Relative to the root contract, or absolute."""


Fetched = Mapping[Place, Bundle | Unresolved]


class Build(msgspec.Struct, frozen=True):
    lock: Lock | None
    missing: tuple[Place, ...] = ()
    """Bundles to fetch before the lock is complete."""


def build_lock(contract: Contract, fetched: Fetched, *, tool_version: str, is_local: bool = True) -> Build:
    """Build the lock; raises `LockError` for a conflict or an unresolved reference. `is_local` is False for a root
    from a registry.
    """
    known = {place.ref: found for place, found in fetched.items() if place.ref and (place.constraint or place.path)}
    resolution = resolve(contract, known)
    missing = [place_of(each.ref, each.compatibility) for each in resolution.missing]
    references = _References(fetched)
    references.walk(contract, "" if is_local else None)
    missing += references.missing
    if missing:
        return Build(None, tuple(dict.fromkeys(missing)))
    _check_graph(resolution.graph)
    if references.problems:
        raise references.problems[0]
    dependencies = list(_dependencies(resolution.graph.root, known))
    root = Named(contract.service.name, contract.service.version)
    return Build(make_lock(tool_version, root, dependencies, list(references.found)))


def place_of(ref: str, constraint: str = "") -> Place:
    """Return the place of a dependency."""
    return Place(ref=ref, constraint=constraint) if is_oci(ref) else Place(ref=ref, path=normalized(location(ref)))


def normalized(path: str) -> str:
    """Return the path with `.` and `..` resolved as far as possible."""
    steps: list[str] = []
    for step in path.split("/"):
        if step == ".." and steps and steps[-1] != "..":
            steps.pop()
        elif step not in ("", "."):
            steps.append(step)
    return ("/" if path.startswith("/") else "") + ("/".join(steps) or ".")


def _check_graph(graph: Graph) -> None:
    if graph.conflicts:
        conflict = graph.conflicts[0]
        versions = " and ".join(conflict.versions)
        raise LockError("LOCK_CONFLICT", f"{conflict.name} is needed at two versions: {versions}; agree on one")
    for node in (graph.root, *(node for _, node in graph.root.walk())):
        for edge in node.dependencies:
            if edge.error:
                raise LockError("LOCK_UNRESOLVED", f"cannot resolve {edge.ref}: {edge.error}")


def _dependencies(root: Node, known: Mapping[str, Bundle | Unresolved]) -> Iterator[LockedDependency]:
    seen: set[str] = set()
    for edge, node in root.walk():
        bundle = known[edge.ref]
        if node.name in seen or not isinstance(bundle, Bundle):
            continue
        seen.add(node.name)
        names = sorted(each.node.name for each in node.dependencies if each.node is not None)
        if edge.local:
            yield LockedDependency(
                name=node.name,
                source="local",
                path=location(edge.ref),
                constraint=edge.compatibility,
                version=node.version,
                content_hash=content_hash(bundle.files),
                depends_on=tuple(names),
            )
        else:
            yield LockedDependency(
                name=node.name,
                source="oci",
                ref=edge.ref,
                constraint=edge.compatibility,
                version=node.version,
                digest=bundle.digest,
                depends_on=tuple(names),
            )


class _References:
    """Collects the transitive configurations and policies, each declaration once."""

    def __init__(self, fetched: Fetched) -> None:
        self.found: dict[LockedReference, None] = {}
        self.missing: list[Place] = []
        self.problems: list[LockError] = []
        self._fetched = fetched
        self._walked: set[Place] = set()

    def walk(self, contract: Contract, base: str | None) -> None:
        """Follow all references; `base` is the bundle's directory relative to the root, None in a registry."""
        for each in contract.configurations:
            if each.ref:
                self._follow(LockedReference(kind="config", name=each.name, source="oci", ref=each.ref), base)
        for policy in contract.policies:
            if policy.ref:
                self._follow(LockedReference(kind="policy", name=policy.name, source="oci", ref=policy.ref), base)

    def _follow(self, entry: LockedReference, base: str | None) -> None:
        place = self._place(entry.ref, base)
        if place is None:
            self._fail(entry.ref, "a bundle of a registry cannot refer to a directory")
            return
        bundle = self._fetched.get(place)
        if bundle is None:
            self.missing.append(place)
        elif isinstance(bundle, Unresolved):
            self._fail(entry.ref, bundle.problem)
        else:
            self._add(entry, place, bundle)

    def _place(self, ref: str, base: str | None) -> Place | None:
        if is_oci(ref):
            return Place(ref=ref)
        if base is None:
            return None
        path = location(ref)
        return Place(path=normalized(path if path.startswith("/") else f"{base or '.'}/{path}"))

    def _add(self, entry: LockedReference, place: Place, bundle: Bundle) -> None:
        version = bundle.contract.service.version
        if place.path:
            locked = LockedReference(
                kind=entry.kind,
                name=entry.name,
                source="local",
                path=location(entry.ref),
                version=version,
                content_hash=content_hash(bundle.files),
            )
        else:
            locked = msgspec.structs.replace(entry, version=version, digest=bundle.digest)
        self.found[locked] = None
        if len(self.found) > MAX_REFERENCES:
            self._fail(entry.ref, f"the contract has more than {MAX_REFERENCES} references")
            return
        if place not in self._walked:
            self._walked.add(place)
            self.walk(bundle.contract, place.path or None)

    def _fail(self, ref: str, problem: str) -> None:
        self.problems.append(LockError("LOCK_UNRESOLVED", f"cannot resolve {ref}: {problem}"))
