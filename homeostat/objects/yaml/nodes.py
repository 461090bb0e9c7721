"""The values of a YAML document with their positions in the text, read from libyaml's events. Pure.

`reader` interprets the values; this module has lines, positions, quotes, anchors and aliases, for callers that report
or edit a place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import yaml
from yaml._yaml import CParser
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from homeostat.objects.json import MAX_DEPTH, encode
from homeostat.objects.yaml.parser import open_parser
from homeostat.objects.yaml.reader import YamlError, malformed
from homeostat.objects.yaml.scalar import NOT_NUMBERS, resolve


class Node:
    """A value. `start` and `end` count characters of the text, without a byte order mark; `line` is that of its key
    where it has one. `text` is that of a scalar, or the name that an alias stands for.
    """

    __slots__ = (
        "anchor",
        "end",
        "fields",
        "is_alias",
        "is_map",
        "items",
        "key",
        "line",
        "start",
        "style",
        "tag",
        "target",
        "text",
    )

    def __init__(self, event: Any) -> None:
        self.line: int = event.start_mark.line + 1
        self.start: int = event.start_mark.index
        self.end: int = event.end_mark.index
        self.anchor: str | None = event.anchor
        self.is_alias = type(event) is AliasEvent
        self.is_map = type(event) is MappingStartEvent
        is_scalar = type(event) is ScalarEvent
        self.tag: str | None = None if self.is_alias else event.tag
        self.style: str | None = (event.style or "") if is_scalar else None
        """The style of a scalar: its quotes, `|` or `>`; empty for a plain one."""
        self.target: Node | None = None
        """The node that an alias stands for."""
        self.text: str = event.value if is_scalar else event.anchor if self.is_alias else ""
        self.fields: dict[str, Node] = {}
        self.items: list[Node] = []
        self.key: Node | None = None
        """The key of a map whose value comes next."""

    def add(self, item: Node) -> None:
        if not self.is_map:
            self.items.append(item)
        elif self.key is None:
            self.key = item
        else:
            item.line = self.key.line
            self.fields[_name(self.key)] = item
            self.key = None

    def at(self, path: Iterable[str]) -> Node:
        """The node at the path, or the nearest one that encloses it."""
        node = self
        for name in path:
            found = node.fields.get(name)
            if found is None:
                return node
            node = found
        return node

    def text_at(self, *path: str) -> str:
        node: Node | None = self
        for name in path:
            node = None if node is None else node.fields.get(name)
        return "" if node is None else node.text


def _name(key: Node) -> str:
    """The name of the field as the reader resolves it: a plain `y` is the key `true`."""
    is_plain = key.style == "" and key.tag is None and key.text not in NOT_NUMBERS
    value = resolve(key.text) if is_plain else None
    return encode(value).decode() if isinstance(value, (bool, int, float)) else key.text


def read_nodes(data: bytes) -> Iterator[Node]:
    """The documents, one by one; `YamlError` where one is malformed, after those before it."""
    try:
        with open_parser(data) as parser:
            while not isinstance(event := parser.get_event(), StreamEndEvent):
                if isinstance(event, DocumentStartEvent):
                    yield _read(parser)
    except yaml.YAMLError as error:
        raise malformed(error) from error
    except UnicodeDecodeError as error:
        raise YamlError("invalid UTF-8") from error


def _read(parser: CParser) -> Node:
    stack: list[Node] = []
    anchors: dict[str, Node] = {}
    while True:
        event: Any = parser.get_event()
        kind = type(event)
        if kind is MappingStartEvent or kind is SequenceStartEvent:
            if len(stack) >= MAX_DEPTH:
                raise YamlError(f"nested more than {MAX_DEPTH} levels deep", line=event.start_mark.line + 1)
            stack.append(Node(event))
            continue
        if kind is MappingEndEvent or kind is SequenceEndEvent:
            node = stack.pop()
            node.end = event.end_mark.index
        else:
            node = Node(event)
        if node.is_alias:
            node.target = anchors.get(node.text)
        elif node.anchor is not None:
            anchors[node.anchor] = node
        if not stack:
            return node
        stack[-1].add(node)
