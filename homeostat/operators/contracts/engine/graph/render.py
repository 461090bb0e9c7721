"""Renders a dependency graph as a text tree. Pure."""

from __future__ import annotations

from homeostat.operators.contracts.engine.graph.graph import Edge, Graph, Node

_SHOWN_DIGITS = 7


def render_graph(graph: Graph) -> str:
    lines = [_label(graph.root)]
    _add(graph.root.dependencies, "", lines)
    if graph.cycles:
        lines += ["", f"Cycles ({len(graph.cycles)}):", *(f"  {' -> '.join(each)}" for each in graph.cycles)]
    if graph.conflicts:
        lines += ["", f"Conflicts ({len(graph.conflicts)}):"]
        lines += [f"  {each.name}: [{' '.join(each.versions)}]" for each in graph.conflicts]
    return "\n".join(lines) + "\n"


def branches(is_last: bool) -> tuple[str, str]:
    """Return the prefix of a child, and the prefix of its children."""
    return ("└─ ", "   ") if is_last else ("├─ ", "│  ")


def short_ref(ref: str) -> str:
    """Return the last path segment of a reference, with a shortened digest."""
    name, at, digest = ref.rpartition("/")[2].partition("@sha256:")
    return f"{name}{at}{digest[:_SHOWN_DIGITS]}"


def _add(edges: list[Edge], before: str, lines: list[str]) -> None:
    for place, edge in enumerate(edges, 1):
        branch, below = branches(place == len(edges))
        lines.append(f"{before}{branch}{_shown(edge)}")
        if edge.node is not None and not edge.shared:
            _add(edge.node.dependencies, before + below, lines)


def _shown(edge: Edge) -> str:
    if edge.type == "reference":
        return f"{short_ref(edge.ref)} [ref]"
    if edge.error:
        return f"{short_ref(edge.ref)} (error: {edge.error})"
    if edge.node is None:
        return short_ref(edge.ref)
    return f"{_label(edge.node)}{' [local]' if edge.node.local else ''}{' (shared)' if edge.shared else ''}"


def _label(node: Node) -> str:
    return f"{node.name}@{node.version}" if node.version else node.name
