"""How services depend on each other: the graph of all, the tree of one, its dependents and its references. Pure.

Only services of the catalogue have edges. A dependency on anything else is an external node, and nothing is fetched.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

import msgspec

from homeostat.operators.contracts.engine.document.contract import Dependency
from homeostat.operators.contracts.engine.graph.graph import MAX_DEPTH, MAX_EDGES, Edge, Graph, Node
from homeostat.operators.contracts.engine.reference import is_oci
from homeostat.operators.contracts.engine.services.catalogue import Catalogue, Drawn, Service

EXTERNAL: Final = "external"
MOST_CYCLES: Final = 100
_UNRESOLVED: Final = "not resolved: no Pacto has this contract"


class GraphEdge(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    target_id: str
    target_name: str
    required: bool
    compatibility: str
    resolved: bool
    type: Literal["dependency", "reference"]


class GraphNode(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    id: str
    service_name: str
    status: str
    """The contract status, or `external`."""
    version: str = ""
    source: str = ""
    reason: str = ""
    """Why an external node is not resolved, where that is known."""
    edges: tuple[GraphEdge, ...] = ()


class Dependent(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    name: str
    version: str
    contract_status: str
    required: bool
    compatibility: str


class CrossReference(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    name: str
    ref_type: str
    ref: str
    contract_status: str


def graph_body(catalogue: Catalogue) -> bytes:
    """All services by name, then all external nodes; as JSON. What did not change is not encoded again."""
    nodes: list[bytes] = []
    outside: dict[str, str] = {}
    for service in catalogue.in_order():
        drawn = draw_node(catalogue, service)
        nodes.append(drawn.node)
        if drawn.outside:
            outside |= drawn.outside
    external = (
        GraphNode(id=each, service_name=each, status=EXTERNAL, reason=outside[each]) for each in sorted(outside)
    )
    return b'{"nodes":[%b]}' % b",".join([*nodes, *map(msgspec.json.encode, external)])


def draw_node(catalogue: Catalogue, service: Service) -> Drawn:
    """Kept until the service or what its edges lead to changes."""
    if service.drawn is not None:
        return service.drawn
    first = service.primary
    outside: dict[str, str] = {}
    node = GraphNode(
        id=service.name,
        service_name=service.name,
        status=first.status,
        version=first.version,
        source=first.sources[0],
        edges=tuple(_edges(catalogue, service, outside)),
    )
    service.drawn = Drawn(msgspec.json.encode(node), outside)
    return service.drawn


def service_tree(catalogue: Catalogue, service: Service) -> Graph:
    """The dependencies of a service, at every depth; a service that occurs again is shared."""
    walk = _Walk(catalogue)
    root = walk.node(service, (service.name,))
    return Graph(root, walk.cycles)


def dependents_of(catalogue: Catalogue, name: str) -> Iterator[Dependent | None]:
    """The services that declare a dependency on this one. Several dependencies count as one, required if one is.

    There is a value for each service that may be one, so that whoever has many of them can let others run in between.
    """
    for service in catalogue.users_of(name):
        if service.name == name:
            continue
        every = (each for one in service.instances.values() for each in one.dependencies)
        declared = [each for each in every if catalogue.target_of(each.ref) == name]
        yield _dependent(service, declared) if declared else None


def _dependent(service: Service, declared: list[Dependency]) -> Dependent:
    first = service.primary
    return Dependent(
        name=service.name,
        version=first.version,
        contract_status=first.status,
        required=any(each.required for each in declared),
        compatibility=declared[0].compatibility,
    )


def references_of(catalogue: Catalogue, service: Service) -> list[CrossReference]:
    """The bundles that define its configurations and policies."""
    found = []
    for each in service.references():
        target = catalogue.target_of(each.ref)
        other = catalogue.get(target)
        status = other.primary.status if other is not None else ""
        found.append(CrossReference(name=target, ref_type=each.kind, ref=each.ref, contract_status=status))
    return found


def referenced_by(catalogue: Catalogue, name: str) -> Iterator[CrossReference | None]:
    """The services whose configurations or policies this one defines, and None as in `dependents_of`."""
    for user in catalogue.users_of(name):
        if user.name == name:
            continue
        status = user.primary.status
        for each in user.references():
            is_meant = catalogue.target_of(each.ref) == name
            yield (
                CrossReference(name=user.name, ref_type=each.kind, ref=each.ref, contract_status=status)
                if is_meant
                else None
            )


class _Walk:
    def __init__(self, catalogue: Catalogue) -> None:
        self.cycles: list[list[str]] = []
        self._catalogue = catalogue
        self._visited: set[str] = set()
        self._count = 0

    def node(self, service: Service, way: tuple[str, ...]) -> Node:
        first = service.primary
        self._visited.add(service.name)
        edges: list[Edge] = []
        for each in first.dependencies:
            edges.append(self._edge(each, way))
            if self._count > MAX_EDGES:
                break
        return Node(name=service.name, version=first.version, ref=first.resolved_ref, dependencies=edges)

    def _edge(self, dependency: Dependency, way: tuple[str, ...]) -> Edge:
        edge = Edge(
            ref=dependency.ref,
            required=dependency.required,
            compatibility=dependency.compatibility,
            type="dependency",
            local=not is_oci(dependency.ref),
        )
        self._count += 1
        target = self._catalogue.target_of(dependency.ref)
        service = self._catalogue.get(target)
        if service is None:
            edge.error = _reason(dependency.ref) or _UNRESOLVED
        elif target in way:
            if len(self.cycles) < MOST_CYCLES:
                self.cycles.append([*way[way.index(target) :], target])
            edge.error = f"cycle detected: {target}"
        elif self._count > MAX_EDGES or len(way) > MAX_DEPTH:
            edge.error = f"the graph has more than {MAX_EDGES} edges or {MAX_DEPTH} levels"
        elif target in self._visited:
            first = service.primary
            edge.node, edge.shared = Node(name=target, version=first.version, ref=first.resolved_ref), True
        else:
            edge.node = self.node(service, (*way, target))
        return edge


def _edges(catalogue: Catalogue, service: Service, outside: dict[str, str]) -> Iterator[GraphEdge]:
    for each in _dependencies(service):
        yield _graph_edge(catalogue, each, "dependency", outside)
    for reference in service.references():
        if catalogue.target_of(reference.ref) != service.name:
            yield _graph_edge(catalogue, Dependency(ref=reference.ref), "reference", outside)


def _graph_edge(
    catalogue: Catalogue, dependency: Dependency, kind: Literal["dependency", "reference"], outside: dict[str, str]
) -> GraphEdge:
    target = catalogue.target_of(dependency.ref)
    is_known = catalogue.get(target) is not None
    if not is_known:
        outside.setdefault(target, _reason(dependency.ref))
    return GraphEdge(
        target_id=target,
        target_name=target,
        required=dependency.required,
        compatibility=dependency.compatibility,
        resolved=is_known,
        type=kind,
    )


def _dependencies(service: Service) -> list[Dependency]:
    """Of all its Pactos, each once."""
    return list(dict.fromkeys(each for one in service.instances.values() for each in one.dependencies))


def _reason(ref: str) -> str:
    return "" if is_oci(ref) else "non_oci_ref"
