"""Resolves the dependency graph of a contract. Pure.

The caller fetches bundles: `resolve` returns the missing references, the caller fetches them and calls it again. Each
reference is fetched once; further edges to it are shared and repeat only name and version. A reference that is its own
ancestor is a cycle, and one service at two versions is a conflict; both are reported and neither is fatal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Literal

import msgspec

from homeostat.objects.versions.semver import parse_version
from homeostat.operators.contracts.engine.bundle.bundle import Bundle, Unresolved
from homeostat.operators.contracts.engine.document.contract import Contract, Dependency
from homeostat.operators.contracts.engine.reference import is_oci

MAX_EDGES: Final = 10_000
MAX_DEPTH: Final = 100


class Edge(msgspec.Struct, kw_only=True, omit_defaults=True):
    ref: str
    required: bool
    compatibility: str
    type: Literal["dependency", "reference"]
    node: Node | None = None
    error: str = ""
    shared: bool = False
    local: bool = False


class Node(msgspec.Struct, kw_only=True, omit_defaults=True):
    name: str
    version: str
    ref: str = ""
    local: bool = False
    dependencies: list[Edge] = msgspec.field(default_factory=list)

    def walk(self) -> Iterator[tuple[Edge, Node]]:
        """Iterate over all edges with a node that is not shared, parents first."""
        for edge in self.dependencies:
            if edge.node is not None and not edge.shared:
                yield edge, edge.node
                yield from edge.node.walk()


class Conflict(msgspec.Struct):
    name: str
    versions: list[str]
    """Such as `weir@1.0.0`, oldest first."""


class Graph(msgspec.Struct, omit_defaults=True):
    root: Node
    cycles: list[list[str]] = msgspec.field(default_factory=list)
    """Each cycle starts with the root's name and ends with the repeated reference."""
    conflicts: list[Conflict] = msgspec.field(default_factory=list)


Fetched = Mapping[str, Bundle | Unresolved]
"""By reference, as the contract spells it."""


References = Literal["none", "with", "only"]


class Resolution(msgspec.Struct, frozen=True):
    graph: Graph
    missing: tuple[Dependency, ...]
    """Dependencies to fetch before the graph is complete; `compatibility` selects the version if none is given."""


def resolve(contract: Contract, fetched: Fetched, *, references: References = "none") -> Resolution:
    """Resolve the graph; reference edges (configurations and policies) exist only at the root and are not fetched."""
    walk = _Walk(fetched)
    root = Node(name=contract.service.name, version=contract.service.version)
    if references != "only":
        root.dependencies = walk.edges(contract, (contract.service.name,))
    if references != "none":
        root.dependencies += _reference_edges(contract)
    return Resolution(Graph(root, walk.cycles, _conflicts(root)), tuple(walk.missing.values()))


class _Walk:
    def __init__(self, fetched: Fetched) -> None:
        self.cycles: list[list[str]] = []
        self.missing: dict[str, Dependency] = {}
        self._fetched = fetched
        self._visited: dict[str, Node] = {}
        self._count = 0

    def edges(self, contract: Contract, way: tuple[str, ...]) -> list[Edge]:
        return [self._edge(each, way) for each in contract.dependencies]

    def _edge(self, dependency: Dependency, way: tuple[str, ...]) -> Edge:
        ref = dependency.ref
        edge = Edge(
            ref=ref,
            required=dependency.required,
            compatibility=dependency.compatibility,
            type="dependency",
            local=not is_oci(ref),
        )
        self._count += 1
        if ref in way:
            self.cycles.append([*way, ref])
            edge.error = f"cycle detected: {ref}"
        elif self._count > MAX_EDGES or len(way) > MAX_DEPTH:
            edge.error = f"the graph has more than {MAX_EDGES} edges or {MAX_DEPTH} levels"
        elif ref in self._visited:
            known = self._visited[ref]
            edge.node = Node(name=known.name, version=known.version, ref=known.ref, local=known.local)
            edge.shared = True
        else:
            self._follow(edge, dependency, way)
        return edge

    def _follow(self, edge: Edge, dependency: Dependency, way: tuple[str, ...]) -> None:
        found = self._fetched.get(edge.ref)
        if found is None:
            self.missing.setdefault(edge.ref, dependency)
        elif isinstance(found, Unresolved):
            edge.error = found.problem
        else:
            service = found.contract.service
            edge.node = Node(name=service.name, version=service.version, ref=edge.ref, local=edge.local)
            self._visited[edge.ref] = edge.node
            edge.node.dependencies = self.edges(found.contract, (*way, edge.ref))


def _reference_edges(contract: Contract) -> list[Edge]:
    """Return one edge for each reference, however often it is named."""
    refs = [each.ref for each in contract.configurations] + [each.ref for each in contract.policies]
    return [Edge(ref=ref, required=False, compatibility="", type="reference") for ref in dict.fromkeys(refs) if ref]


def _conflicts(root: Node) -> list[Conflict]:
    versions: dict[str, dict[str, None]] = {root.name: {root.version: None}}
    for _, node in root.walk():
        versions.setdefault(node.name, {})[node.version] = None
    return [
        Conflict(name, [f"{name}@{each}" for each in sorted(found, key=_order)])
        for name, found in sorted(versions.items())
        if len(found) > 1
    ]


def _order(text: str) -> tuple[bool, object, str]:
    version = parse_version(text)
    return (version is None, 0 if version is None else version, text)
