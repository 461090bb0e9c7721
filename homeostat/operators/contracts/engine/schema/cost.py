"""Counts the work of a schema before it is applied. Pure.

A schema is applied by a library that cannot be interrupted and keeps the interpreter lock meanwhile. A few kilobytes of
`anyOf` for the items of a list, or references that double at every step, keep it busy for minutes, and the errors that
it collects fill the memory. So the work is counted along the schema and the document, up to a limit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Final
from urllib.parse import unquote

import msgspec

from homeostat.cel.regex import SLIGHT_WEIGHT, PatternError, compile_pattern
from homeostat.objects.json import Json, JsonObject

MAX_STEPS: Final = 200_000
"""The number of subschemas applied to values: it takes longer to count them than to apply them."""
MAX_LISTED: Final = 500_000
"""Keywords that may fail, each times the size of its value, which the error copies: a tenth of a second."""
MAX_PATTERNS: Final = 50_000
"""The weight of all patterns of a schema: some 100 ms to compile."""
_UNCOUNTED: Final = 5_000_000
_EACH_ERROR: Final = 10
_EACH_PATTERN: Final = 20
_CHARACTERS: Final = 64
"""Characters of a text that count as one value."""
_LONGEST_WAY: Final = 300
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_HERE_ONE: Final = ("not", "if", "then", "else")
_HERE_MANY: Final = ("allOf", "anyOf", "oneOf")
_HERE_NAMED: Final = ("dependentSchemas", "dependencies")
_ALL_ITEMS: Final = ("items", "additionalItems", "contains", "unevaluatedItems")
_ALL_MEMBERS: Final = ("additionalProperties", "unevaluatedProperties")
_COMPARED: Final = ("enum", "const", "required", "dependentRequired")
"""Keywords that are compared with a value part by part."""
_WALKED: Final = ("uniqueItems", "format")
"""Keywords that read all of a value."""
_is_index = re.compile("[0-9]{1,9}").fullmatch
_repetitions = re.compile(r"\{[0-9,]*?([0-9]{1,4})\}").findall

_Way = tuple[int, ...]


class Work(msgspec.Struct):
    """What applying a schema to a document takes at most, counted up to a limit of steps."""

    steps: int = 0
    listed: int = 0


class SchemaCost:
    def __init__(self, schema: Json) -> None:
        self._root = schema
        nodes = list(_nodes(schema))
        self._has_references = any(any(word in node for word in _REFERENCES) for node in nodes)
        self.has_alternatives = any("anyOf" in node or "oneOf" in node for node in nodes)
        """Whether one error may consist of many."""
        self._anchors = {
            node[word]: node
            for node in nodes
            for word in ("$anchor", "$dynamicAnchor", "$id", "id")
            if isinstance(node.get(word), str)
        }
        self._targets: dict[str, Json] = {}
        self._weights = {each: _weight(each) for node in nodes for each in _patterns(node)}
        self._size, self._sizes = _sizes(schema)

    @property
    def is_compilable(self) -> bool:
        return sum(self._weights.values()) <= MAX_PATTERNS

    def is_little(self, value: Json) -> bool:
        """Whether it is little work even if every part of the schema is applied to every value."""
        weight = self._size + sum(self._weights.values())
        return not self._has_references and weight * size_of(value) <= _UNCOUNTED

    def is_affordable(self, value: Json) -> bool:
        return self.is_little(value) or self._work(value, MAX_STEPS).steps <= MAX_STEPS

    def is_listable(self, value: Json) -> bool:
        """Whether all errors can be collected."""
        most = MAX_LISTED // _EACH_ERROR
        work = self._work(value, most)
        return work.steps <= most and work.listed <= MAX_LISTED

    def _work(self, value: Json, most: int) -> Work:
        work, (_, sizes) = Work(), _sizes(value)
        waiting: list[tuple[Json, Json, _Way]] = [(self._root, value, ())]
        while waiting:
            node, each, above = waiting.pop()
            if not isinstance(node, dict) or id(node) in above:
                continue
            size = _size(each, sizes)
            own, listed = self._own(node, each, size)
            work.steps += own if len(above) < _LONGEST_WAY else most
            work.listed += listed
            way = (*above, id(node))
            here = ((found, each, way) for found in chain(_in_place(node), self._referred(node)))
            for found in chain(here, _below(node, each)):
                work.steps += 1
                if work.steps > most:
                    return work
                waiting.append(found)
        return work

    def _own(self, node: JsonObject, value: Json, size: int) -> tuple[int, int]:
        """What a subschema without those in it takes, and what its errors take."""
        known = sum(_size(node[word], self._sizes) for word in _COMPARED if word in node)
        steps = 1 + known + (len(self._sizes) * size if any(word.startswith("unevaluated") for word in node) else 0)
        steps += size if any(word in node for word in _WALKED) else 0
        weights = [self._weights[pattern] for pattern in _patterns(node)]
        if weights:
            count, characters = _texts(value)
            heavy = sum(weight if weight > SLIGHT_WEIGHT else 1 for weight in weights)
            steps += len(weights) * count + heavy * characters // _CHARACTERS
        return steps, len(node) * (_EACH_ERROR + size) + known

    def _referred(self, node: JsonObject) -> Iterator[Json]:
        for word in _REFERENCES:
            if isinstance(node.get(word), str):
                yield self._target(node[word])

    def _target(self, ref: str) -> Json:
        """The target of a reference; the whole schema if the target cannot be determined. Each is searched for once: a
        pointer may be long, and is followed for each value.
        """
        if ref not in self._targets:
            self._targets[ref] = self._find_target(ref)
        return self._targets[ref]

    def _find_target(self, ref: str) -> Json:
        name, _, pointer = ref.partition("#")
        start = self._anchors.get(name, self._root) if name else self._root
        if not pointer.startswith("/"):
            return self._anchors.get(pointer, start)
        for step in unquote(pointer)[1:].split("/"):
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(start, list) and _is_index(key) and int(key) < len(start):
                start = start[int(key)]
            elif isinstance(start, dict) and key in start:
                start = start[key]
            else:
                return self._root
        return start


def _nodes(schema: Json) -> Iterator[JsonObject]:
    """Every map of the document: all possible targets of references."""
    waiting = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield value
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


def _sizes(value: Json) -> tuple[int, dict[int, int]]:
    """The number of values in a document, and in each map and list of it, by its `id`."""
    holders, waiting = list[Json](), [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict | list):
            holders.append(each)
            waiting += each.values() if isinstance(each, dict) else each
    sizes: dict[int, int] = {}
    for each in reversed(holders):
        sizes[id(each)] = 1 + sum(_size(below, sizes) for below in (each.values() if isinstance(each, dict) else each))
    return _size(value, sizes), sizes


def size_of(value: Json) -> int:
    return _sizes(value)[0]


def _size(value: Json, sizes: dict[int, int]) -> int:
    if isinstance(value, dict | list):
        return sizes[id(value)]
    return 1 + len(value) // _CHARACTERS if isinstance(value, str) else 1


def _texts(value: Json) -> tuple[int, int]:
    """How many texts a pattern is compared with, and their characters: the names of a map, or a text itself."""
    texts = [each for each in (value if isinstance(value, dict) else (value,)) if isinstance(each, str)]
    return len(texts), sum(map(len, texts))


def _in_place(node: JsonObject) -> Iterator[Json]:
    yield from (node[word] for word in _HERE_ONE if word in node)
    for word in (*_HERE_MANY, *_HERE_NAMED):
        yield from _values(node.get(word))


def _below(node: JsonObject, value: Json) -> Iterator[tuple[Json, Json, _Way]]:
    if isinstance(value, list):
        for word in ("prefixItems", "items"):
            if isinstance(node.get(word), list):
                yield from ((schema, each, ()) for schema, each in zip(node[word], value, strict=False))
        for word in _ALL_ITEMS:
            if isinstance(node.get(word), dict):
                yield from ((node[word], each, ()) for each in value)
    elif isinstance(value, dict):
        named = node.get("properties")
        if isinstance(named, dict):
            yield from ((named[key], each, ()) for key, each in value.items() if key in named)
        for schema in (*(node[word] for word in _ALL_MEMBERS if word in node), *_values(node.get("patternProperties"))):
            yield from ((schema, each, ()) for each in value.values())
        if "propertyNames" in node:
            yield from ((node["propertyNames"], key, ()) for key in value)


def _values(value: Json) -> Iterator[Json]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _patterns(node: JsonObject) -> Iterator[str]:
    if isinstance(node.get("pattern"), str):
        yield node["pattern"]
    if isinstance(node.get("patternProperties"), dict):
        yield from node["patternProperties"]


def _weight(pattern: str) -> int:
    """About how many states a pattern has. What only the library can read counts with all of its repetitions."""
    try:
        return _EACH_PATTERN + compile_pattern(pattern).weight
    except PatternError:
        states = len(pattern)
        for most in _repetitions(pattern):
            states = min(states * max(1, int(most)), MAX_PATTERNS + 1)
        return _EACH_PATTERN + states
