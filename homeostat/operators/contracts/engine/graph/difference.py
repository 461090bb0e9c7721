"""Compares two dependency graphs: services added, removed or at another version. Pure.

The trees are compared level by level: a service that is no longer a direct dependency is removed at that level, even if
it is still a transitive dependency. `changes` lists each service once.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from homeostat.operators.contracts.engine.graph.graph import Graph, Node
from homeostat.operators.contracts.engine.graph.render import branches


class GraphChange(msgspec.Struct, kw_only=True, omit_defaults=True, rename="camel"):
    name: str
    change_type: Literal["added", "removed", "version_changed"]
    old_version: str = ""
    new_version: str = ""


class DiffNode(msgspec.Struct, kw_only=True, omit_defaults=True):
    name: str
    version: str = ""
    change: GraphChange | None = None
    children: list[DiffNode] = msgspec.field(default_factory=list)

    @property
    def has_changes(self) -> bool:
        return self.change is not None or any(each.has_changes for each in self.children)


class GraphDifference(msgspec.Struct, omit_defaults=True):
    root: DiffNode
    changes: list[GraphChange] = msgspec.field(default_factory=list)


def compare_graphs(old: Graph, new: Graph) -> GraphDifference:
    nodes: dict[str, Node] = {old.root.name: old.root}
    for _, node in old.root.walk():
        nodes.setdefault(node.name, node)
    root = _compare(old.root, new.root, nodes, set())
    found: dict[str, GraphChange] = {}
    _collect(root, found)
    return GraphDifference(root, sorted(found.values(), key=lambda each: each.name))


def render_difference(difference: GraphDifference) -> str:
    """Render the changed nodes and their parents as a tree; empty if nothing changed."""
    if not difference.changes:
        return ""
    lines = [difference.root.name]
    _render(difference.root.children, "", lines)
    return "\n".join(lines) + "\n"


def _compare(old: Node, new: Node, nodes: dict[str, Node], visited: set[str]) -> DiffNode:
    before = {edge.node.name: edge.node for edge in old.dependencies if edge.node is not None}
    after = {edge.node.name for edge in new.dependencies if edge.node is not None}
    children = []
    for edge in new.dependencies:
        node = edge.node
        if node is None:
            continue
        child = DiffNode(name=node.name, version=node.version, change=_change(before.get(node.name), node))
        if node.name in before and not edge.shared and node.name not in visited:
            visited.add(node.name)
            # A shared edge has no children of its own: the node that has them stands for it.
            whole = nodes.get(node.name, before[node.name])
            child.children = _compare(whole, node, nodes, visited).children
        children.append(child)
    for edge in old.dependencies:
        if edge.node is not None and edge.node.name not in after:
            change = GraphChange(name=edge.node.name, change_type="removed", old_version=edge.node.version)
            children.append(DiffNode(name=edge.node.name, version=edge.node.version, change=change))
    return DiffNode(name=new.name, version=new.version, children=children)


def _change(old: Node | None, new: Node) -> GraphChange | None:
    if old is None:
        return GraphChange(name=new.name, change_type="added", new_version=new.version)
    if old.version == new.version:
        return None
    return GraphChange(name=new.name, change_type="version_changed", old_version=old.version, new_version=new.version)


def _collect(node: DiffNode, found: dict[str, GraphChange]) -> None:
    if node.change is not None:
        found.setdefault(node.name, node.change)
    for child in node.children:
        _collect(child, found)


def _render(children: list[DiffNode], before: str, lines: list[str]) -> None:
    shown = [each for each in children if each.has_changes]
    for place, child in enumerate(shown, 1):
        branch, below = branches(place == len(shown))
        lines.append(f"{before}{branch}{_label(child)}")
        _render(child.children, before + below, lines)


def _label(node: DiffNode) -> str:
    change = node.change
    if change is None:
        return node.name
    labels = {
        "added": f"+{change.new_version}",
        "removed": f"-{change.old_version}",
        "version_changed": f"{change.old_version} → {change.new_version}",
    }
    return f"{node.name:<14}{labels[change.change_type]}"
