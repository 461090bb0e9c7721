"""Estimates the work of a schema before it is applied. Pure.

References can double the work at every step: forty small definitions keep a validator busy for years, and it cannot be
interrupted. A schema without references is a tree, whose work is proportional to its size.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from homeostat.objects.json import Json, JsonObject

MAX_STEPS: Final = 20_000_000
"""The number of subschemas applied to values, which take a second or two."""
_MAX_ENTRIES: Final = 300_000
_LONGEST_WAY: Final = 300
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_HERE_ONE: Final = ("not", "if", "then", "else")
_HERE_MANY: Final = ("allOf", "anyOf", "oneOf")
_HERE_NAMED: Final = ("dependentSchemas", "dependencies")
_BELOW_ONE: Final = (
    "items",
    "additionalItems",
    "contains",
    "additionalProperties",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
)
_BELOW_NAMED: Final = ("properties", "patternProperties")


def has_references(schema: Json) -> bool:
    return any(any(word in node for word in _REFERENCES) for node in _nodes(schema))


def is_affordable(schema: Json, value: Json) -> bool:
    """Return whether a schema with references can be applied to the value within `MAX_STEPS`."""
    depth, count = _size(value)
    return _Count(schema).steps(depth, MAX_STEPS // count) * count <= MAX_STEPS


def _size(value: Json) -> tuple[int, int]:
    """Return the number of levels and of values."""
    depth, count, layer = 0, 0, [value]
    while layer:
        depth, count = depth + 1, count + len(layer)
        below: list[Json] = []
        for each in layer:
            if isinstance(each, dict):
                below += each.values()
            elif isinstance(each, list):
                below += each
        layer = below
    return depth, count


class _Count:
    """Counts the subschemas that are applied along one path down a document, level by level from the deepest."""

    def __init__(self, schema: Json) -> None:
        self._root = schema
        self._anchors = {
            node[word]: node
            for node in _nodes(schema)
            for word in ("$anchor", "$dynamicAnchor", "$id", "id")
            if isinstance(node.get(word), str)
        }
        self._below: dict[int, int] = {}
        """The count one level deeper, by `id` of the subschema."""
        self._here: dict[int, int] = {}
        self._limit = 0

    def steps(self, depth: int, limit: int) -> int:
        """Return the count; more than `limit` if it exceeds the limit."""
        self._limit = limit
        nodes = list(_nodes(self._root))
        if len(nodes) * depth > _MAX_ENTRIES:
            return limit + 1
        for _ in range(depth):
            self._here = {}
            for node in nodes:
                self._at(node, ())
            self._below = self._here
        return self._here.get(id(self._root), 1)

    def _at(self, node: Json, above: tuple[int, ...]) -> int:
        """Count the subschemas at one level; a subschema that refers to itself is counted once."""
        if not isinstance(node, dict) or id(node) in above:
            return 1
        if len(above) > _LONGEST_WAY:
            return self._limit + 1
        if id(node) not in self._here:
            below = sum(self._below.get(id(each), 1) for each in _children(node))
            way = (*above, id(node))
            here = sum(self._at(each, way) for each in (*_in_place(node), *self._referred(node)))
            self._here[id(node)] = min(1 + below + here, self._limit + 1)
        return self._here[id(node)]

    def _referred(self, node: JsonObject) -> Iterator[Json]:
        for word in _REFERENCES:
            if isinstance(node.get(word), str):
                yield self._target(node[word])

    def _target(self, ref: str) -> Json:
        """Return the target of a reference; the whole schema if the target cannot be determined."""
        name, _, pointer = ref.partition("#")
        start = self._anchors.get(name, self._root) if name else self._root
        if not pointer.startswith("/"):
            return self._anchors.get(pointer, start)
        for step in unquote(pointer)[1:].split("/"):
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(start, list) and key.isdigit() and int(key) < len(start):
                start = start[int(key)]
            elif isinstance(start, dict) and key in start:
                start = start[key]
            else:
                return self._root
        return start


def _nodes(schema: Json) -> Iterator[JsonObject]:
    """Iterate over every map of the document: all possible targets of references."""
    waiting = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield value
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


def _in_place(node: JsonObject) -> Iterator[Json]:
    yield from (node[word] for word in _HERE_ONE if word in node)
    for word in _HERE_MANY:
        yield from _values(node.get(word))
    for word in _HERE_NAMED:
        yield from _values(node.get(word))


def _children(node: JsonObject) -> Iterator[Json]:
    for word in _BELOW_ONE:
        if word in node:
            yield from _values(node[word]) if isinstance(node[word], list) else (node[word],)
    yield from _values(node.get("prefixItems"))
    for word in _BELOW_NAMED:
        yield from _values(node.get(word))


def _values(value: Json) -> Iterator[Json]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value
