"""Finds the line of a finding: of the field, or else of its container or its object. Pure.

The file is parsed a second time, with libyaml's events, which have line numbers; the first parser is faster and knows
only the lines on which documents begin. If the field is not found (it is an alias, or the file changed), the line of
the document stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from homeostat.objects.report.report import Entry
from homeostat.objects.yaml.nodes import Node, read_nodes
from homeostat.objects.yaml.reader import YamlError

_MOST_NESTED: Final = 8
_TEMPLATES: Final = {"Pod": ("spec",), "CronJob": ("spec", "jobTemplate", "spec", "template", "spec")}
_TEMPLATE: Final = ("spec", "template", "spec")
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


def read_documents_by_line(data: bytes) -> dict[int, Node]:
    """The documents by the line on which they begin, up to the first error."""
    found: dict[int, Node] = {}
    try:
        for document in read_nodes(data):
            found[document.line] = document
    except YamlError:
        pass
    return found


def with_line(entry: Entry, documents: dict[int, Node]) -> Entry:
    """The entry with the line of its field instead of the line of its document."""
    document = documents.get(entry.line)
    node = None if document is None else next((each for each in _objects(document) if _is_object(each, entry)), None)
    return entry if node is None else msgspec.structs.replace(entry, line=_field(node, entry).line)


def _objects(node: Node, depth: int = 0) -> Iterator[Node]:
    """The object, or the items of a list."""
    items = node.fields.get("items")
    if items is None or depth >= _MOST_NESTED:
        yield node
        return
    for each in items.items:
        yield from _objects(each, depth + 1)


def _is_object(node: Node, entry: Entry) -> bool:
    namespace = node.text_at("metadata", "namespace") or "default"
    named = (node.text_at("kind"), namespace, node.text_at("metadata", "name"))
    return named == (entry.kind, entry.namespace, entry.name)


def _field(node: Node, entry: Entry) -> Node:
    if entry.type in _OF_WORKLOAD:
        found = node.at(_OF_WORKLOAD[entry.type])
        return found if found.text else node
    path = _TEMPLATES.get(entry.kind, _TEMPLATE)
    if not entry.part:
        fields = _OF_POD.get(entry.type)
        return node if fields is None else node.at((*path, *fields))
    containers = node.at((*path, "containers")).items
    container = next((each for each in containers if each.text_at("name") == entry.part), None)
    return node if container is None else container.at(_OF_CONTAINER.get(entry.type, ()))
