"""Where in a file a finding is: the line of the field that it is about, or else of its container or its object. Pure.

A second reading, by libyaml's events, which know their lines: the first one is made for speed and knows only where
documents begin. Whatever is not found (an alias stands for it, or the file is another by now) leaves the line as it is.
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


def read_places(data: bytes) -> dict[int, Node]:
    """The documents by the line on which they begin, as far as they can be read."""
    found: dict[int, Node] = {}
    try:
        for document in read_nodes(data):
            found[document.line] = document
    except YamlError:
        pass
    return found


def locate(entry: Entry, documents: dict[int, Node]) -> Entry:
    """The entry with the line of what it is about, where its own is that of its document."""
    document = documents.get(entry.line)
    place = None if document is None else next((each for each in _objects(document) if _is_of(each, entry)), None)
    return entry if place is None else msgspec.structs.replace(entry, line=_about(place, entry).line)


def _objects(place: Node, depth: int = 0) -> Iterator[Node]:
    """The object, or those of a list."""
    items = place.fields.get("items")
    if items is None or depth >= _MOST_NESTED:
        yield place
        return
    for each in items.items:
        yield from _objects(each, depth + 1)


def _is_of(place: Node, entry: Entry) -> bool:
    namespace = place.text_at("metadata", "namespace") or "default"
    named = (place.text_at("kind"), namespace, place.text_at("metadata", "name"))
    return named == (entry.kind, entry.namespace, entry.name)


def _about(place: Node, entry: Entry) -> Node:
    if entry.type in _OF_WORKLOAD:
        found = place.at(_OF_WORKLOAD[entry.type])
        return found if found.text else place
    path = _TEMPLATES.get(entry.kind, _TEMPLATE)
    if not entry.part:
        fields = _OF_POD.get(entry.type)
        return place if fields is None else place.at((*path, *fields))
    containers = place.at((*path, "containers")).items
    container = next((each for each in containers if each.text_at("name") == entry.part), None)
    return place if container is None else container.at(_OF_CONTAINER.get(entry.type, ()))
