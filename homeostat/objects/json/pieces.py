"""Decodes a large JSON document in pieces, so that no step holds the interpreter lock for long.

msgspec decodes a document in one call. An object of 280,000 keys takes it a tenth of a second, in which no other thread
runs, the event loop included. Here a document is checked first, which is fast, and then cut between the members of its
objects and arrays; each piece is decoded by msgspec. The result is the same, with the same last one of repeated keys.
Pure.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from homeostat.objects.lazy_pattern import lazy_pattern

DENSE_KEYS: Final = 50_000
"""From so many keys on a document is cut: they take about 20 ms in one call. Colons and commas in texts count."""
_PIECE_KEYS: Final = 16_000
_ITEMS_A_KEY: Final = 8
"""So many items of arrays take as long as a key."""
MAX_LEVELS: Final = 16
"""How deep large objects and arrays are cut: each level reads its text again."""
_KEPT_BYTES: Final = 1024
"""Where a smaller object or array ends is soon found again."""
PIECE_BYTES: Final = 128 * 1024
"""A document that is not larger is decoded at once."""

_STRING = rb'"(?>(?:[^"\\]++|\\.)*)"'
_FLAT = rb'[^"{}\[\]]*+(?>(?:%b[^"{}\[\]]*+){0,64})' % _STRING
_SMALL = rb"(?:\{%b\}|\[%b\])" % (_FLAT, _FLAT)
_SCALAR = rb'[^"{}\[\],]*+(?>(?:%b[^"{}\[\],]*+)*)' % _STRING
_MEMBERS = lazy_pattern(rb"(?>(?:%b(?>(?:%b\s*+)?),){1,1024})" % (_SCALAR, _SMALL), re.DOTALL)
"""Members with the comma behind each: texts, numbers, and small objects and arrays that have no others in them."""
_MARK = lazy_pattern(rb"%b([{}\[\],])" % _SCALAR, re.DOTALL)
_BRACKET = lazy_pattern(rb"(?>(?:%b(?>%b?)){1,64})(?>([{}\[\]])?)" % (_FLAT, _SMALL), re.DOTALL)
"""The next bracket, without those of small ones; none where there is a long way to it."""

_check = msgspec.json.Decoder(msgspec.Raw).decode
_decode = msgspec.json.Decoder().decode
_KEY = msgspec.json.Decoder(str).decode


def is_dense(data: bytes) -> bool:
    """Whether a document has so many keys that it should be decoded in pieces."""
    return len(data) > PIECE_BYTES and _keys(data, 0, len(data)) > DENSE_KEYS


def _keys(data: bytes, start: int, end: int) -> int:
    """How many keys take as long as what is between two positions."""
    return data.count(b":", start, end) + data.count(b",", start, end) // _ITEMS_A_KEY


def decode_pieces(data: bytes, *, is_trusted: bool = False) -> Any:
    """Raises as msgspec does for what is not JSON, and for what is too deep to be cut, unless it is trusted."""
    _check(data)
    return _Cut(data, is_trusted=is_trusted).value(0, len(data), MAX_LEVELS)


class _Cut:
    """The text between two positions is one valid value."""

    __slots__ = ("_data", "_ends", "_is_trusted")

    def __init__(self, data: bytes, *, is_trusted: bool) -> None:
        self._data, self._is_trusted = data, is_trusted
        self._ends: dict[int, int] = {}
        """By their beginning: where objects and arrays end that were seen on the way to the end of another one."""

    def value(self, start: int, end: int, levels: int) -> Any:
        data = self._data
        keys = _keys(data, start, end)
        if not levels and data.count(b":", start, end) > DENSE_KEYS and not self._is_trusted:
            raise msgspec.DecodeError(f"more than {DENSE_KEYS} keys are nested more than {MAX_LEVELS} levels deep")
        if not levels or keys <= _PIECE_KEYS:
            return _decode(data[start:end])
        opening = _MARK.match(data, start)
        if opening is None or opening[1] not in b"{[":
            return _decode(data[start:end])  # One long text.
        found: dict[str, Any] | list[Any] = {} if opening[1] == b"{" else []
        self._fill(found, opening.end(), levels)
        return found

    def _fill(self, found: dict[str, Any] | list[Any], at: int, levels: int) -> None:
        """Reads members from `at` on, which is behind the opening bracket."""
        piece = at
        while True:
            if (simple := _MEMBERS.match(self._data, at)) is not None:
                at = simple.end()
                if at - piece >= PIECE_BYTES:
                    self._add(found, piece, at - 1)
                    piece = at
                continue
            mark = _MARK.match(self._data, at)
            assert mark is not None
            if mark[1] in b"}]":
                self._add(found, piece, mark.start(1))
                return
            nested_end = self._end_of(mark.start(1))
            behind = _MARK.match(self._data, nested_end)  # A comma, or the closing bracket.
            assert behind is not None
            if nested_end - mark.start(1) >= PIECE_BYTES:
                self._add(found, piece, at - 1)
                self._add_nested(found, at, mark.start(1), nested_end, levels)
                piece = behind.end()
            if behind[1] != b",":
                self._add(found, piece, behind.start(1))
                return
            at = behind.end()
            if at - piece >= PIECE_BYTES:
                self._add(found, piece, at - 1)
                piece = at

    def _add(self, found: dict[str, Any] | list[Any], start: int, end: int) -> None:
        text = self._data[start:end]
        if isinstance(found, list):
            found += _decode(b"[%b]" % text)
        else:
            found |= _decode(b"{%b}" % text)

    def _add_nested(self, found: dict[str, Any] | list[Any], at: int, start: int, end: int, levels: int) -> None:
        value = self.value(start, end, levels - 1)
        if isinstance(found, list):
            found.append(value)
        else:
            found[_KEY(self._data[at:start].strip().removesuffix(b":"))] = value

    def _end_of(self, start: int) -> int:
        """The position behind the value that begins with the bracket at `start`."""
        if (known := self._ends.get(start)) is not None:
            return known
        opened, at = [start], start + 1
        while True:
            bracket = _BRACKET.match(self._data, at)
            assert bracket is not None
            at = bracket.end()
            if not bracket[1]:
                continue
            if bracket[1] in b"{[":
                opened.append(at - 1)
                continue
            began = opened.pop()
            if not opened:
                return at
            if at - began >= _KEPT_BYTES:
                self._ends[began] = at
