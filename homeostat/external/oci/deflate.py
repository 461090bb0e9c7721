"""gzip whose bytes depend on the input alone. Pure.

zlib and its successors compress the same data to different bytes from version to version, and the digest of a layer
with them. Here the format's fixed codes and a greedy search are enough: what is packed is small text. Large data is
stored as it is, because a search in Python takes a second a megabyte.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final

MAX_SEARCHED: Final = 1 << 20
_STORED: Final = 65_535
_WINDOW: Final = 32_768
_SHORTEST, _LONGEST = 4, 258
_LENGTH_BITS: Final = [*(max(code // 4 - 1, 0) for code in range(28)), 0]
_LENGTHS: Final = [*(3 + code if code < 8 else 3 + ((4 + code % 4) << (code // 4 - 1)) for code in range(28)), _LONGEST]
_DISTANCES: Final = [1 + code if code < 4 else 1 + ((2 + code % 2) << (code // 2 - 1)) for code in range(30)]


def gzip_bytes(data: bytes) -> bytes:
    """One gzip member without a name and without a time."""
    body = _search(data) if len(data) <= MAX_SEARCHED else _store(data)
    return b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + body + struct.pack("<II", zlib.crc32(data), len(data) & 0xFFFFFFFF)


def _store(data: bytes) -> bytes:
    parts = []
    for start in range(0, len(data), _STORED):
        piece = data[start : start + _STORED]
        is_last = start + _STORED >= len(data)
        parts.append(struct.pack("<BHH", is_last, len(piece), len(piece) ^ 0xFFFF) + piece)
    return b"".join(parts)


class _Bits:
    """Bits as DEFLATE packs them, the lowest first."""

    __slots__ = ("_bits", "_count", "_out")

    def __init__(self) -> None:
        self._out, self._bits, self._count = bytearray(), 0, 0

    def add(self, value: int, count: int) -> None:
        self._bits |= value << self._count
        self._count += count
        if self._count >= 32:
            self._out += (self._bits & 0xFFFFFFFF).to_bytes(4, "little")
            self._bits >>= 32
            self._count -= 32

    def end(self) -> bytes:
        return bytes(self._out) + self._bits.to_bytes((self._count + 7) // 8, "little")


def _search(data: bytes) -> bytes:
    bits, seen, at = _Bits(), dict[bytes, int](), 0
    bits.add(0b011, 3)  # the last block, with fixed codes
    while at < len(data):
        key = data[at : at + _SHORTEST]
        known = seen.get(key, -1)
        seen[key] = at
        if known >= 0 and at - known <= _WINDOW and len(key) == _SHORTEST:
            length = _match(data, known, at)
            bits.add(*_LENGTH_CODES[length])
            _add_distance(bits, at - known)
            at += length
        else:
            bits.add(*_CODES[data[at]])
            at += 1
    bits.add(*_CODES[256])
    return bits.end()


def _match(data: bytes, known: int, at: int) -> int:
    longest = min(_LONGEST, len(data) - at)
    length = _SHORTEST
    while length + 16 <= longest and data[known + length : known + length + 16] == data[at + length : at + length + 16]:
        length += 16
    while length < longest and data[known + length] == data[at + length]:
        length += 1
    return length


def _add_distance(bits: _Bits, distance: int) -> None:
    code = _distance_code(distance)
    bits.add(_reversed(code, 5), 5)
    extra = max(code // 2 - 1, 0)
    if extra:
        bits.add(distance - _DISTANCES[code], extra)


def _distance_code(distance: int) -> int:
    if distance <= 4:
        return distance - 1
    top = (distance - 1).bit_length() - 1
    return 2 * top + ((distance - 1) >> (top - 1) & 1)


def _reversed(code: int, count: int) -> int:
    return int(f"{code:0{count}b}"[::-1], 2)


def _fixed_code(symbol: int) -> tuple[int, int]:
    if symbol < 144:
        return _reversed(0x30 + symbol, 8), 8
    if symbol < 256:
        return _reversed(0x190 + symbol - 144, 9), 9
    if symbol < 280:
        return _reversed(symbol - 256, 7), 7
    return _reversed(0xC0 + symbol - 280, 8), 8


_CODES: Final = [_fixed_code(symbol) for symbol in range(286)]


def _length_code(length: int) -> tuple[int, int]:
    """The code of a length with its extra bits behind it."""
    place = max(place for place, least in enumerate(_LENGTHS) if least <= length)
    code, count = _CODES[257 + place]
    return code | (length - _LENGTHS[place]) << count, count + _LENGTH_BITS[place]


_LENGTH_CODES: Final = {length: _length_code(length) for length in range(3, _LONGEST + 1)}
