"""Where in a file a finding is: the line of the field that it is about, or else of its container or its object. Pure.

A second reading, by libyaml's events, which know their lines: the first one is made for speed and knows only where
documents begin. Whatever is not found (an alias stands for it, or the file is another by now) leaves the line as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec
import yaml
from yaml._yaml import CParser
from yaml.events import (
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from homeostat.objects.json import MAX_DEPTH
from homeostat.objects.report.report import Entry

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


class Place:
    """A value, without its text unless it is a scalar, and its line: that of its key where it has one."""

    __slots__ = ("fields", "items", "key", "line", "text")

    def __init__(self, line: int, text: str = "") -> None:
        self.line, self.text = line, text
        self.fields: dict[str, Place] = {}
        self.items: list[Place] = []
        self.key: tuple[str, int] | None = None
        """Of a map that is being read: the key that waits for its value."""

    def add(self, item: Place, *, is_map: bool) -> None:
        if not is_map:
            self.items.append(item)
        elif self.key is None:
            self.key = (item.text, item.line)
        else:
            name, item.line = self.key
            self.fields[name] = item
            self.key = None

    def at(self, path: Iterable[str]) -> Place:
        """What is there, or as near to it as there is something."""
        place = self
        for name in path:
            found = place.fields.get(name)
            if found is None:
                return place
            place = found
        return place

    def text_at(self, *path: str) -> str:
        place: Place | None = self
        for name in path:
            place = None if place is None else place.fields.get(name)
        return "" if place is None else place.text


def read_places(data: bytes) -> dict[int, Place]:
    """The documents by the line on which they begin, as far as they can be read."""
    found: dict[int, Place] = {}
    parser = CParser(data)
    try:
        while not isinstance(event := parser.get_event(), StreamEndEvent):
            if isinstance(event, DocumentStartEvent):
                place = _read(parser)
                found[place.line] = place
    except (yaml.YAMLError, UnicodeDecodeError, _TooDeepError):
        pass
    finally:
        parser.dispose()
    return found


class _TooDeepError(Exception):
    """Nobody declares that."""


def _read(parser: CParser) -> Place:
    stack: list[tuple[Place, bool]] = []
    while True:
        event: Any = parser.get_event()
        kind = type(event)
        if kind is MappingStartEvent or kind is SequenceStartEvent:
            if len(stack) >= MAX_DEPTH:
                raise _TooDeepError
            stack.append((Place(event.start_mark.line + 1), kind is MappingStartEvent))
            continue
        if kind is MappingEndEvent or kind is SequenceEndEvent:
            place, _ = stack.pop()
        else:
            place = Place(event.start_mark.line + 1, event.value if kind is ScalarEvent else "")
        if not stack:
            return place
        parent, is_map = stack[-1]
        parent.add(place, is_map=is_map)


def locate(entry: Entry, documents: dict[int, Place]) -> Entry:
    """The entry with the line of what it is about, where its own is that of its document."""
    document = documents.get(entry.line)
    place = None if document is None else next((each for each in _objects(document) if _is_of(each, entry)), None)
    return entry if place is None else msgspec.structs.replace(entry, line=_about(place, entry).line)


def _objects(place: Place, depth: int = 0) -> Iterator[Place]:
    """The object, or those of a list."""
    items = place.fields.get("items")
    if items is None or depth >= _MOST_NESTED:
        yield place
        return
    for each in items.items:
        yield from _objects(each, depth + 1)


def _is_of(place: Place, entry: Entry) -> bool:
    namespace = place.text_at("metadata", "namespace") or "default"
    named = (place.text_at("kind"), namespace, place.text_at("metadata", "name"))
    return named == (entry.kind, entry.namespace, entry.name)


def _about(place: Place, entry: Entry) -> Place:
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
