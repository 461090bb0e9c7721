"""Finds the line of a finding: of the field, or else of its container or its object. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from homeostat.objects.report.location import find_object, pod_path
from homeostat.objects.report.report import Entry
from homeostat.objects.yaml.nodes import Node

_OF_CONTAINER: Final[dict[str, tuple[str, ...]]] = {
    "latest_tag": ("image",),
    "foreign_registry": ("image",),
    "unpinned_image": ("image",),
    "missing_resources": ("resources",),
    "run_as_root": ("securityContext",),
    "privileged": ("securityContext", "privileged"),
}
_OF_POD: Final[dict[str, tuple[str, ...]]] = {"host_path": ("volumes",)}
_OF_WORKLOAD: Final[dict[str, tuple[str, ...]]] = {"few_replicas": ("spec", "replicas")}


def with_line(entry: Entry, documents: dict[int, Node]) -> Entry:
    """The entry with the line of its field instead of the line of its document."""
    node = find_object(entry, documents)
    return entry if node is None else msgspec.structs.replace(entry, line=_field(node, entry).line)


def _field(node: Node, entry: Entry) -> Node:
    if entry.type in _OF_WORKLOAD:
        found = node.at(_OF_WORKLOAD[entry.type])
        return found if found.text else node
    path = pod_path(entry.kind)
    if not entry.part:
        fields = _OF_POD.get(entry.type)
        return node if fields is None else node.at((*path, *fields))
    containers = node.at((*path, "containers")).items
    container = next((each for each in containers if each.text_at("name") == entry.part), None)
    return node if container is None else container.at(_OF_CONTAINER.get(entry.type, ()))
