"""Finds the object of a finding in the text of its file, for the line of a field. Pure.

The file is parsed a second time, with libyaml's events, which have line numbers; the first parser is faster and knows
only the lines on which documents begin. If the object is not found (it is an alias, or the file changed), the line of
the document stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from homeostat.objects.report.report import Entry
from homeostat.objects.yaml.nodes import Node, read_nodes
from homeostat.objects.yaml.reader import YamlError

_MOST_NESTED: Final = 8
_TEMPLATES: Final = {"Pod": ("spec",), "CronJob": ("spec", "jobTemplate", "spec", "template", "spec")}
_TEMPLATE: Final = ("spec", "template", "spec")


def read_documents_by_line(data: bytes) -> dict[int, Node]:
    """The documents by the line on which they begin, up to the first error."""
    found: dict[int, Node] = {}
    try:
        for document in read_nodes(data):
            found[document.line] = document
    except YamlError:
        pass
    return found


def find_object(entry: Entry, documents: dict[int, Node]) -> Node | None:
    """The object that a finding is about, in the document that begins on its line."""
    document = documents.get(entry.line)
    return None if document is None else next((each for each in _objects(document) if _is_object(each, entry)), None)


def pod_path(kind: str) -> tuple[str, ...]:
    """The path of the Pod's spec in an object of this kind."""
    return _TEMPLATES.get(kind, _TEMPLATE)


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
    return named == (entry.kind, entry.namespace or "default", entry.name)
