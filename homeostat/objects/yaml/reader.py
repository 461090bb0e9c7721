"""Reads YAML in kubectl's dialect.

Most files are read line by line (see `block`), the rest from libyaml's events with a constructor of our own:
`yes` and `on` are true, `0755` is 493, dates and `1:30` are strings, a duplicate key is an error, and so are tags that
name objects, `.inf` and keys without a text. Input is bounded in size, depth and in what aliases may expand to.
Everything malformed is a `YamlError`, a `BadRequestError` that names the line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import yaml
from yaml._yaml import CParser
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
    StreamStartEvent,
)

from homeostat.objects.errors import BadRequestError, TooLargeError, quoted
from homeostat.objects.json import MAX_CONTAINERS, MAX_DEPTH, Json, decode, encode
from homeostat.objects.yaml.block import read_block
from homeostat.objects.yaml.parser import open_parser
from homeostat.objects.yaml.scalar import NOT_NUMBERS, resolve

MAX_BYTES = 3 * 1024 * 1024
MAX_ALIASED_NODES = 100_000
MAX_VALUES = 200_000
"""Keys and values of one document: more take seconds to read."""
MAX_EMPTY_DOCUMENTS = 1_000

_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "map", "seq"))


class YamlError(BadRequestError):
    """The text is not YAML, or has no JSON form; `line` counts from 1, and is 0 if it is unknown."""

    def __init__(self, problem: str, *, line: int = 0) -> None:
        place = f"line {line}: " if line else ""
        super().__init__(f"error converting YAML to JSON: yaml: {place}{problem}")
        self.problem, self.line = problem, line


def load(data: bytes, *, limit: int = MAX_BYTES, pause: Callable[[], None] | None = None) -> Json:
    """The value of the one document in `data`; null for none. `pause` is called every few milliseconds."""
    documents = (value for _, value in load_located(data, limit=limit, pause=pause))
    value = next(documents, None)
    if next(documents, documents) is not documents:
        raise BadRequestError("expected one YAML document, got several")
    return value


def load_all(data: bytes, *, limit: int = MAX_BYTES) -> Iterator[Json]:
    """The values of the documents in `data`, one by one; empty documents are passed over."""
    for _, value in load_located(data, limit=limit):
        yield value


def load_located(
    data: bytes, *, limit: int = MAX_BYTES, pause: Callable[[], None] | None = None
) -> Iterator[tuple[int, Json]]:
    """As `load_all`, each with the line on which its value begins."""
    if len(data) > limit:
        raise TooLargeError(f"the YAML is {len(data)} bytes long, more than {limit}")
    if data.lstrip()[:1] == b"{":
        # Most of what clients call YAML is JSON.
        try:
            value = decode(data)
        except BadRequestError:
            value = None
        if value is not None:
            yield 1 + data[: len(data) - len(data.lstrip())].count(b"\n"), value
            return
    found = read_block(data)
    yield from _documents(data, pause) if found is None else found


def _documents(data: bytes, pause: Callable[[], None] | None = None) -> Iterator[tuple[int, Json]]:
    empty = 0
    try:
        with open_parser(data, pause) as parser:
            while not isinstance(event := parser.get_event(), StreamEndEvent):
                if isinstance(event, DocumentStartEvent):
                    document = _Document(parser)
                    value = document.read()
                    if value is not None:
                        yield document.line, value
                    elif (empty := empty + 1) > MAX_EMPTY_DOCUMENTS:
                        raise _refused(event, f"more than {MAX_EMPTY_DOCUMENTS} empty documents")
                elif not isinstance(event, (StreamStartEvent, DocumentEndEvent)):
                    raise BadRequestError(f"YAML: unexpected {type(event).__name__}")
    except yaml.YAMLError as error:
        raise malformed(error) from error
    except UnicodeDecodeError as error:
        raise BadRequestError("error converting YAML to JSON: invalid UTF-8") from error


def malformed(error: yaml.YAMLError) -> YamlError:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "malformed"
    return YamlError(problem, line=mark.line + 1 if mark else 0)


def _refused(event: Any, problem: str) -> YamlError:
    return YamlError(problem, line=event.start_mark.line + 1)


class _Mapping:
    """A mapping being read: the key whose value comes next, and what it merges in with `<<`."""

    __slots__ = ("anchor", "key", "merged", "merges", "value")

    def __init__(self, anchor: str | None) -> None:
        self.anchor = anchor
        self.value: dict[str, Json] = {}
        self.key: str | None = None
        self.merges = False
        self.merged: list[dict[str, Json]] = []

    def add(self, item: Json, event: Any) -> None:
        if self.merges:
            self._merge(item, event)
        elif self.key is None:
            self._start(item, event)
        else:
            self.value[self.key] = item
            self.key = None

    def _start(self, key: Json, event: Any) -> None:
        if isinstance(event, ScalarEvent) and event.value == "<<" and event.implicit[0]:
            self.merges = True
            return
        text = _key_text(key, event)
        if text in self.value:
            raise _refused(event, f"key {quoted(text)} already set in map")
        self.key = text

    def _merge(self, item: Json, event: Any) -> None:
        self.merges = False
        sources = item if isinstance(item, list) else [item]
        if not all(isinstance(source, dict) for source in sources):
            raise _refused(event, "map merge requires map or sequence of maps as the value")
        self.merged += sources

    def end(self) -> Json:
        """The mapping with what it merges in; its own keys win, then the earlier of the merged."""
        for source in self.merged:
            for key, item in source.items():
                self.value.setdefault(key, item)
        return self.value


class _Sequence:
    __slots__ = ("anchor", "value")

    def __init__(self, anchor: str | None) -> None:
        self.anchor = anchor
        self.value: list[Json] = []

    def add(self, item: Json, event: Any) -> None:
        self.value.append(item)

    def end(self) -> Json:
        return self.value


class _Document:
    """One document, from the events after its start to the one before its end; `line` is where its value begins."""

    def __init__(self, parser: CParser) -> None:
        self.line = 0
        self._parser = parser
        self._stack: list[_Mapping | _Sequence] = []
        self._anchors: dict[str, Json] = {}
        self._aliased = 0
        self._containers = 0
        self._values = 0

    def read(self) -> Json:
        stack = self._stack
        while True:
            event: Any = self._parser.get_event()
            if not self.line:
                self.line = event.start_mark.line + 1
            kind = type(event)
            if kind is ScalarEvent:
                value = _scalar(event)
                if event.anchor is not None:
                    self._anchors[event.anchor] = value
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                self._open(event, _Mapping if kind is MappingStartEvent else _Sequence)
                continue
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                ended = stack.pop()
                value = ended.end()
                if ended.anchor is not None:
                    self._anchors[ended.anchor] = value
            elif kind is AliasEvent:
                value = self._expand(event)
            else:
                raise _refused(event, "unexpected end of the document")
            if not stack:
                return value
            self._values += 1
            if self._values > MAX_VALUES:
                raise _refused(event, f"more than {MAX_VALUES} keys and values")
            stack[-1].add(value, event)

    def _open(self, event: Any, kind: type[_Mapping] | type[_Sequence]) -> None:
        _check_tag(event)
        self._check_size(event, len(self._stack))
        if event.anchor is not None:
            self._anchors.pop(event.anchor, None)
        self._stack.append(kind(event.anchor))

    def _check_size(self, event: Any, depth: int) -> None:
        """One more list or map, so deep."""
        self._containers += 1
        if depth >= MAX_DEPTH:
            raise _refused(event, f"nested more than {MAX_DEPTH} levels deep")
        if self._containers > MAX_CONTAINERS:
            raise _refused(event, f"more than {MAX_CONTAINERS} lists and maps")

    def _expand(self, event: Any) -> Json:
        if event.anchor not in self._anchors:
            raise _refused(event, f"unknown anchor {quoted(event.anchor)} referenced")
        return self._copy(self._anchors[event.anchor], event, len(self._stack))

    def _copy(self, value: Json, event: Any, depth: int) -> Json:
        """A value of its own for each alias, so that changing one place changes no other."""
        self._aliased += 1
        if self._aliased > MAX_ALIASED_NODES:
            raise _refused(event, "document contains excessive aliasing")
        if type(value) is not dict and type(value) is not list:
            return value
        self._check_size(event, depth)
        if type(value) is dict:
            return {key: self._copy(item, event, depth + 1) for key, item in value.items()}
        return [self._copy(item, event, depth + 1) for item in value]


def _check_tag(event: Any) -> None:
    if event.tag is not None and event.tag != "!" and event.tag not in _TAGS:
        raise _refused(event, f"tag {quoted(event.tag)} is not supported")


def _scalar(event: Any) -> Json:
    tag = event.tag
    if tag is None:
        return _resolved(event) if event.implicit[0] else event.value
    _check_tag(event)
    return _tagged(event, tag.rpartition(":")[2])


def _resolved(event: Any) -> Json:
    if event.value in NOT_NUMBERS:
        raise _refused(event, f"{event.value} has no JSON form")
    return resolve(event.value)


def _tagged(event: Any, tag: str) -> Json:
    if tag in ("str", "!"):
        return event.value
    value = _resolved(event)
    fits = {
        "null": value is None,
        "bool": isinstance(value, bool),
        "int": type(value) is int,
        "float": type(value) in (int, float),
    }
    if not fits.get(tag, False):
        raise _refused(event, f"cannot decode {quoted(event.value)} as a !!{tag}")
    return value


def _key_text(key: Json, event: Any) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, (bool, int, float)):
        return encode(key).decode()
    raise _refused(event, "a key of a map must be a string, a number or a boolean")
