"""A fast reader for simple YAML: block maps and lists of plain and simply quoted scalars, with comments.

Most manifests are like that, and libyaml's events cost three times as much. Any other text (block scalars, flow style,
escapes, anchors, tags, scalars of several lines, anything but printable ASCII, any mistake) is declined and read by
the full parser. Two promises, each tested: the result equals that of the full parser; and the work before a text is
declined is bounded, since the lines are matched in one step that holds the interpreter lock. Decision 20 has the
figures.
"""

from __future__ import annotations

import re
from typing import Final, TypeVar

from homeostat.objects.json import MAX_DEPTH, Json
from homeostat.objects.yaml.scalar import WORDS, resolve

N = TypeVar("N", list[Json], dict[str, Json])

_MOST_BYTES: Final = 512 * 1024
_MOST_LINES: Final = 20_000
_LONGEST_KEY: Final = 1000
_lines = re.compile(
    r"""^(?:
        ([ ]*+)(?>(-[ ]++)?)
         (?>(?:([A-Za-z_][A-Za-z0-9_./-]*+):(?=[ ]|$)[ ]*+)?)
         (?>("[ !\#-\[\]-~]*+"
         |'[ -&(-~]*+'
         |\{\}
         |\[\]
         |(?:[A-Za-z0-9_/$(^~]|--?(?=[0-9A-Za-z])|\.(?=[0-9/]))(?>(?:[!-9;-~]++|:(?=[!-~])|[ ]++(?=[!-"$-~]))*)
         )?)
         [ ]*+(?:(?<=[ ])\#[ -~]*+)?
        |\#[ -~]*+
        |(---)[ ]*+
    )$""",
    re.MULTILINE | re.VERBOSE,
).findall


class _DeclinedError(Exception):
    """The text is not simple YAML."""


def read_block(data: bytes) -> list[tuple[int, Json]] | None:
    """The values of the documents, each with its line; None where the full parser must read them."""
    count = data.count(b"\n") + 1
    if len(data) > _MOST_BYTES or count > _MOST_LINES or not data.isascii():
        return None
    lines = _lines(data.decode("ascii"))
    if len(lines) != count:
        return None
    try:
        return _documents(lines)
    except _DeclinedError:
        return None


def _documents(lines: list[tuple[str, ...]]) -> list[tuple[int, Json]]:
    found: list[tuple[int, Json]] = []
    document = _Document()
    for number, (indent, dash, key, value, separator) in enumerate(lines, 1):
        if key or value or dash:
            if not document.line:
                document.line = number
            document.add(len(indent), dash, key, value)
        elif separator:
            if document.line:
                found.append((document.line, document.root))
            document = _Document()
    if document.line:
        found.append((document.line, document.root))
    return found


class _Document:
    """A document read line by line: the open maps and lists with their columns, and the key whose value comes next."""

    __slots__ = ("_column", "_columns", "_nodes", "_pending", "_waiting", "line", "root")

    def __init__(self) -> None:
        self.line = 0
        self.root: Json = None
        self._columns: list[int] = []
        self._nodes: list[Json] = []
        self._waiting: dict[str, Json] | None = None
        self._pending = ""
        self._column = 0

    def add(self, column: int, dash: str, key: str, value: str) -> None:
        if dash:
            items = self._list(column)
            if not key:
                if not value:
                    raise _DeclinedError
                items.append(_scalar(value))
                return
            node: dict[str, Json] = {}
            items.append(node)
            column += len(dash)
            self._open(column, node)
        elif key:
            node = self._map(column)
        else:
            raise _DeclinedError
        if key in node or key in WORDS or len(key) > _LONGEST_KEY:
            raise _DeclinedError
        if value:
            node[key] = _scalar(value)
        else:
            node[key] = None
            self._waiting, self._pending, self._column = node, key, column

    def _list(self, column: int) -> list[Json]:
        waiting = self._waiting
        if waiting is not None:
            self._waiting = None
            if column >= self._column:
                items: list[Json] = []
                waiting[self._pending] = items
                self._open(column, items)
                return items
        columns, nodes = self._columns, self._nodes
        while columns and columns[-1] > column:
            columns.pop()
            nodes.pop()
        if not columns:
            return self._root(column, [])
        top = nodes[-1]
        if columns[-1] != column or type(top) is not list:
            raise _DeclinedError
        return top

    def _map(self, column: int) -> dict[str, Json]:
        waiting = self._waiting
        if waiting is not None:
            self._waiting = None
            if column > self._column:
                node: dict[str, Json] = {}
                waiting[self._pending] = node
                self._open(column, node)
                return node
        columns, nodes = self._columns, self._nodes
        while columns and (columns[-1] > column or (columns[-1] == column and type(nodes[-1]) is list)):
            columns.pop()
            nodes.pop()
        if not columns:
            return self._root(column, {})
        top = nodes[-1]
        if columns[-1] != column or type(top) is not dict:
            raise _DeclinedError
        return top

    def _root(self, column: int, node: N) -> N:
        if self.root is not None:
            raise _DeclinedError
        self.root = node
        self._open(column, node)
        return node

    def _open(self, column: int, node: Json) -> None:
        if len(self._columns) >= MAX_DEPTH - 1:
            raise _DeclinedError
        self._columns.append(column)
        self._nodes.append(node)


def _scalar(value: str) -> Json:
    first = value[0]
    if first == '"' or first == "'":
        return value[1:-1]
    if first == "{":
        return {}
    return [] if first == "[" else resolve(value)
