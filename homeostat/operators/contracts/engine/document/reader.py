"""The first YAML document of a file as JSON data, with the line of every value. Pure.

Duplicate keys are errors, anchors and merge keys are resolved, and later documents are not read. Bytes, depth, the
number of lists and maps, and the expansion of aliases are limited. Every error is a `YamlError`.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final

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
)

from homeostat.objects.json import MAX_CONTAINERS, MAX_DEPTH, Json
from homeostat.objects.yaml.parser import open_parser
from homeostat.operators.contracts.engine.document.scalar import Scalar, is_text, resolve, resolve_tagged

MAX_BYTES: Final = 10 * 1024 * 1024
MAX_ALIASED_NODES: Final = 100_000
MAX_VALUES: Final = 300_000
"""Of one document: more take seconds to read."""


class YamlError(ValueError):
    """The text is not YAML, or has no JSON form. `line` counts from 1, and is 0 if unknown."""

    def __init__(self, problem: str, *, line: int = 0) -> None:
        super().__init__(f"line {line}: {problem}" if line else problem)
        self.problem, self.line = problem, line


class Document:
    """A value with the line of each key and item, and with timestamps as they were written."""

    __slots__ = ("_lines", "_merged", "_times", "value")

    def __init__(self) -> None:
        self.value: Json = None
        self._merged: list[Json] = []
        """Keeps merged maps alive, because the tables identify containers by `id`."""
        self._lines: dict[tuple[int, Hashable], int] = {}
        self._times: dict[tuple[int, Hashable], str] = {}

    def add(self, container: Json, key: Hashable, line: int, written: str | None) -> None:
        self._lines[id(container), key] = line
        if written is not None:
            self._times[id(container), key] = written

    def copy(self, source: Json, target: Json, key: Hashable, to: Hashable) -> None:
        """Copy line and timestamp of an item to its copy in another container."""
        self._merged.append(source)
        self.add(target, to, self._lines.get((id(source), key), 0), self._times.get((id(source), key)))

    def line(self, container: Json, key: Hashable) -> int:
        return self._lines.get((id(container), key), 0)

    def written(self, container: Json, key: Hashable) -> str | None:
        """Return the text of an unquoted timestamp, which `value` holds in RFC 3339."""
        return self._times.get((id(container), key))

    def as_written(self) -> Json:
        """Return a copy of the value with timestamps as they were written."""
        return self._as_written(self.value)

    def _as_written(self, value: Json) -> Json:
        if isinstance(value, dict):
            return {key: self.written(value, key) or self._as_written(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.written(value, place) or self._as_written(item) for place, item in enumerate(value)]
        return value

    def line_at(self, path: str) -> int:
        """Return the line of a path (`interfaces[0].port` or `interfaces.0.port`), or of its nearest parent."""
        line, value = 1, self.value
        for name in path.replace("[", ".").replace("]", "").split("."):
            key: Hashable = int(name) if isinstance(value, list) and name.isdigit() else name
            found = self.line(value, key)
            if not found:
                break
            line, value = found, value[key]
        return line


def read_document(data: bytes, *, limit: int = MAX_BYTES) -> Document | None:
    """Read the first document; None if the file has none."""
    if len(data) > limit:
        raise YamlError(f"the file is {len(data)} bytes long, more than {limit}")
    try:
        with open_parser(data) as parser:
            while not isinstance(event := parser.get_event(), StreamEndEvent):
                if isinstance(event, DocumentStartEvent):
                    return _Builder(parser).read()
            return None
    except yaml.YAMLError as error:
        raise _malformed(error) from error
    except UnicodeDecodeError as error:
        raise YamlError("the file is not UTF-8") from error


def read_value(data: bytes, *, limit: int = MAX_BYTES) -> Json:
    """Return the value of the first document; None if the file has none."""
    document = read_document(data, limit=limit)
    return None if document is None else document.value


def _malformed(error: yaml.YAMLError) -> YamlError:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "malformed YAML"
    return YamlError(problem, line=mark.line + 1 if mark else 0)


class _Open:
    """A map or list that is being read; for a map also the pending key and the maps to merge."""

    __slots__ = ("anchor", "is_at_key", "key", "key_line", "line", "merged", "merges", "value")

    def __init__(self, event: Any, *, is_map: bool) -> None:
        self.anchor: str | None = event.anchor
        self.line: int = event.start_mark.line + 1
        self.value: Json = {} if is_map else []
        self.is_at_key = is_map
        """Whether the next scalar is a key."""
        self.key = ""
        self.key_line = 0
        self.merges = False
        self.merged: list[dict[str, Json]] = []


class _Builder:
    def __init__(self, parser: CParser) -> None:
        self._parser = parser
        self._document = Document()
        self._stack: list[_Open] = []
        self._anchors: dict[str, tuple[Json, str | None]] = {}
        self._aliased = 0
        self._containers = 0
        self._values = 0

    def read(self) -> Document:
        next_event, stack = self._parser.get_event, self._stack
        while True:
            event: Any = next_event()
            kind = type(event)
            written: str | None = None
            line = event.start_mark.line + 1
            if kind is ScalarEvent:
                if stack and stack[-1].is_at_key:
                    self._start_key(stack[-1], event, line)
                    continue
                value, written = self._scalar(event)
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                self._open(event, is_map=kind is MappingStartEvent)
                continue
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                line = self._stack[-1].line
                value = self._close()
            elif kind is AliasEvent:
                value, written = self._expand(event)
            elif kind is DocumentEndEvent:
                raise YamlError("unexpected end of the document", line=line)
            else:
                continue
            if not stack:
                self._document.value = value
                return self._document
            self._add(stack[-1], value, line, written)

    def _start_key(self, top: _Open, event: Any, line: int) -> None:
        name = event.value
        top.is_at_key = False
        if name == "<<" and event.implicit[0]:
            top.merges = True
            return
        if name in top.value:
            first = self._document.line(top.value, name)
            raise _refused(event, f'key "{name}" is already set on line {first}')
        if event.anchor is not None:
            self._anchors[event.anchor] = (name, None)
        top.key, top.key_line = name, line

    def _scalar(self, event: Any) -> tuple[Json, str | None]:
        if event.tag is None and event.anchor is None and (not event.implicit[0] or is_text(event.value)):
            return event.value, None
        try:
            if event.tag is not None and event.tag != "!":
                found = resolve_tagged(event.value, event.tag)
            else:
                found = resolve(event.value) if event.implicit[0] else Scalar(event.value)
        except ValueError as error:
            raise _refused(event, str(error)) from error
        written = event.value if found.is_time else None
        if event.anchor is not None:
            self._anchors[event.anchor] = (found.value, written)
        return found.value, written

    def _open(self, event: Any, *, is_map: bool) -> None:
        if self._stack and self._stack[-1].is_at_key:
            raise _refused(event, "a key of a map must be a string, a number or a boolean")
        self._count(event, len(self._stack))
        if event.anchor is not None:
            self._anchors.pop(event.anchor, None)
        self._stack.append(_Open(event, is_map=is_map))

    def _count(self, event: Any, depth: int) -> None:
        self._containers += 1
        if depth >= MAX_DEPTH:
            raise _refused(event, f"nested more than {MAX_DEPTH} levels deep")
        if self._containers > MAX_CONTAINERS:
            raise _refused(event, f"more than {MAX_CONTAINERS} lists and maps")

    def _close(self) -> Json:
        """Finish a map or list; a map's own keys override merged keys, and earlier merged maps override later ones."""
        done = self._stack.pop()
        for source in done.merged:
            for key, item in source.items():
                if key not in done.value:
                    done.value[key] = item
                    self._document.copy(source, done.value, key, key)
        if done.anchor is not None:
            self._anchors[done.anchor] = (done.value, None)
        return done.value

    def _add(self, top: _Open, value: Json, line: int, written: str | None) -> None:
        self._values += 1
        if self._values > MAX_VALUES:
            raise YamlError(f"more than {MAX_VALUES} values", line=line)
        if type(top.value) is list:
            top.value.append(value)
            self._document.add(top.value, len(top.value) - 1, line, written)
        elif top.merges:
            sources = value if isinstance(value, list) else [value]
            if not all(isinstance(each, dict) for each in sources):
                raise YamlError("a merge key needs a map, or a list of maps", line=line)
            top.merges, top.is_at_key, top.merged = False, True, top.merged + sources
        elif top.is_at_key:
            raise YamlError("a key of a map must be a string, a number or a boolean", line=line)
        else:
            top.value[top.key] = value
            self._document.add(top.value, top.key, top.key_line, written)
            top.is_at_key = True

    def _expand(self, event: Any) -> tuple[Json, str | None]:
        if event.anchor not in self._anchors:
            raise _refused(event, f'unknown anchor "{event.anchor}"')
        value, written = self._anchors[event.anchor]
        return self._copy(value, event, len(self._stack)), written

    def _copy(self, value: Json, event: Any, depth: int) -> Json:
        """Copy an aliased value and count its parts, so that nested aliases cannot expand without limit."""
        self._aliased += 1
        if self._aliased > MAX_ALIASED_NODES:
            raise _refused(event, f"aliases expand to more than {MAX_ALIASED_NODES} values")
        if type(value) is not dict and type(value) is not list:
            return value
        self._count(event, depth)
        made: Json = {} if type(value) is dict else []
        for key, item in value.items() if type(value) is dict else enumerate(value):
            copied = self._copy(item, event, depth + 1)
            if type(made) is dict:
                made[key] = copied
            else:
                made.append(copied)
            self._document.copy(value, made, key, key)
        return made


def _refused(event: Any, problem: str) -> YamlError:
    return YamlError(problem, line=event.start_mark.line + 1)
