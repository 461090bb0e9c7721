"""Edits one scalar of a YAML text and nothing else: comments, quotes, order and line endings stay byte for byte. Pure.

Promises, each with a property test: everything outside the scalar is equal to the byte, and reading the result gives
the new value there and the old ones everywhere else. It rejects edits that could not keep them: a value that an
anchor shares with other places, an alias, a merged key, a value with a tag, a block of several lines. `shared` finds
the text behind anchors, aliases and merged keys, for an edit that changes all places of a value alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from homeostat.objects.json import Json
from homeostat.objects.yaml.nodes import Node, read_nodes
from homeostat.objects.yaml.printer import double_quoted
from homeostat.objects.yaml.reader import MAX_BYTES, YamlError, load_all
from homeostat.objects.yaml.scalar import resolve

Path = Sequence[str | int]
_BOM: Final = "\ufeff"
_BLOCK: Final = {"|": "literal", ">": "folded"}
_STRING: Final = "tag:yaml.org,2002:str"
_properties = re.compile(r"(?:[&!]\S*\s+)*").match
"""The anchor and the tag before a value."""


class SpanError(Exception):
    """The scalar cannot be edited in place: names it, and says why and what to do."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path_text(path)}: {problem}")


class Span(NamedTuple):
    """A scalar in its text, in characters; `line` counts from 1."""

    start: int
    end: int
    line: int
    text: str
    style: str
    """Its quotes; empty for a plain one."""


def path_text(path: Path) -> str:
    """`spec.containers[0].image`."""
    steps = (f"[{each}]" if isinstance(each, int) else f".{each}" for each in path)
    return "".join(steps).removeprefix(".") or "the document"


class Scalars:
    """The scalars of a text, which is read once for all of them. `YamlError` if it is not YAML."""

    def __init__(self, data: bytes) -> None:
        # The reader applies the same limits and dialect: what it rejects is rejected here too.
        self._count = sum(1 for _ in load_all(data, limit=max(len(data), MAX_BYTES)))
        self._documents = [each for each in read_nodes(data) if not _is_empty(each)]
        try:
            self._whole = data.decode()
        except UnicodeDecodeError as error:
            raise YamlError("the text is not UTF-8; write it in UTF-8 to have it edited") from error
        self._shift = 1 if data.startswith(_BOM.encode()) else 0

    def find(self, path: Path, *, document: int = 0) -> Span:
        """`document` is an index from 0 among the documents that are not empty."""
        node = self._document(path, document)
        _check_own(node, path)
        for at, step in enumerate(path):
            node = _child(node, step, path[: at + 1])
            _check_own(node, path[: at + 1])
        return self._span(node, path)

    def shared(self, path: Path, *, document: int = 0) -> Span:
        """Also the text that an alias or a merged key stands for: an edit of it changes every place that shares it."""
        node = _target(self._document(path, document))
        for at, step in enumerate(path):
            node = _target(_merged(node, step) or _child(node, step, path[: at + 1]))
        if node.tag not in (None, _STRING):
            raise SpanError(path, f"has the tag {node.tag}; remove the tag to have it edited")
        return self._span(node, path)

    def _document(self, path: Path, document: int) -> Node:
        if self._count != len(self._documents):
            raise SpanError(path, "cannot tell the documents of the file apart")
        if not 0 <= document < self._count:
            raise SpanError(path, f"there is no document {document}; the file has {self._count}")
        return self._documents[document]

    def _span(self, node: Node, path: Path) -> Span:
        if node.style is None:
            raise SpanError(path, "is a list or a map; expected a single value")
        start, end = node.start + self._shift, node.end + self._shift
        if node.style in _BLOCK:
            start = self._whole.find(node.text, self._whole.find("\n", start, end), end)
            if not node.text or "\n" in node.text or start < 0:
                raise SpanError(path, f"is a {_BLOCK[node.style]} block; write it on one line to have it edited")
            end = start + len(node.text)
        elif node.anchor is not None or node.tag is not None:
            found = _properties(self._whole, start, end)
            start = found.end() if found is not None else start
        return Span(start, end, node.line, node.text, node.style)


def find_scalar(data: bytes, path: Path, *, document: int = 0) -> Span:
    return Scalars(data).find(path, document=document)


def replace_scalar(data: bytes, path: Path, text: str, *, document: int = 0) -> bytes:
    """The data with this text at the path, as a string. It is quoted as before, or with double quotes if it could not
    be read back otherwise.
    """
    span = find_scalar(data, path, document=document)
    whole = data.decode()
    expected = _with(list(load_all(data, limit=max(len(data), MAX_BYTES))), [document, *path], text)
    for written in _writings(text, span):
        edited = f"{whole[: span.start]}{written}{whole[span.end :]}".encode()
        if _values(edited) == expected:
            return edited
    raise SpanError(path, f"line {span.line} cannot hold {double_quoted(text)} in its place")


def replace_scalars(data: bytes, texts: Mapping[Span, str], expected: Sequence[Json]) -> bytes:
    """The data with all these texts at their spans. `expected` are the documents that reading it must give; if it gives
    others, a text needs other quotes than its neighbours allow: `ValueError`.
    """
    whole, parts, at = data.decode(), list[str](), 0
    for span, text in sorted(texts.items()):
        parts += (whole[at : span.start], next(iter(_safe_writings(text, span))))
        at = span.end
    edited = "".join((*parts, whole[at:])).encode()
    if _values(edited) != list(expected):
        raise ValueError("the edited text does not have the expected values")
    return edited


def _safe_writings(text: str, span: Span) -> Iterator[str]:
    """Without a plain text that would be read as a number or another word."""
    is_text = bool(text) and resolve(text) == text
    return (each for each in _writings(text, span) if is_text or span.style or each.strip() != text)


def _is_empty(node: Node) -> bool:
    return node.style == "" and node.tag is None and node.text in ("", "~", "null", "Null", "NULL")


def _child(node: Node, step: str | int, path: Path) -> Node:
    if isinstance(step, int):
        if not 0 <= step < len(node.items):
            raise SpanError(path, f"there is no such item; the list has {len(node.items)}")
        return node.items[step]
    found = node.fields.get(step)
    if found is None and "<<" in node.fields:
        raise SpanError(path, "may come from a merge (<<); write the field itself where you want to edit it")
    if found is None:
        raise SpanError(path, "there is no such field")
    return found


def _target(node: Node) -> Node:
    return node.target if node.is_alias and node.target is not None else node


def _merged(node: Node, step: str | int) -> Node | None:
    """The field that `<<` merges in, where the map has none of its own; of several the first. Each map is searched
    once: there are 2^40 ways through 40 maps that merge the one before twice.
    """
    if not isinstance(step, str) or step in node.fields:
        return None
    waiting, seen = [node], set[int]()
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if step in each.fields:
            return each.fields[step]
        if "<<" in each.fields:
            merged = _target(each.fields["<<"])
            waiting += map(_target, [merged] if merged.is_map else reversed(merged.items))
    return None


def _check_own(node: Node, path: Path) -> None:
    """Checks that the edit changes no other place."""
    if node.is_alias:
        raise SpanError(path, f"is an alias (*{node.text}); write the value in its place to have it edited")
    if node.anchor is not None:
        raise SpanError(path, f"has the anchor &{node.anchor}, by which other places may share it; remove the anchor")
    if node.tag is not None:
        raise SpanError(path, f"has the tag {node.tag}; remove the tag to have it edited")


def _writings(text: str, span: Span) -> Iterator[str]:
    """Candidates for the new text, the one nearest to the old style first."""
    space = " " if span.start == span.end else ""
    if span.style in _BLOCK:
        yield text
        return
    if text.isprintable():
        if span.style == "":
            yield f"{space}{text}"
        if span.style == "'":
            yield "'" + text.replace("'", "''") + "'"
    yield f"{space}{double_quoted(text)}"


def _values(data: bytes) -> list[Json] | None:
    try:
        return list(load_all(data, limit=max(len(data), MAX_BYTES)))
    except YamlError:
        return None


def _with(value: Json, path: Path, text: str) -> Json:
    """The value with this text at the path, which is in it."""
    if not path:
        return text
    step, *rest = path
    value[step] = _with(value[step], rest, text)
    return value
