"""The encoding of LDAP's messages: tags, lengths and values, of definite length. Pure.

Input is not trusted: each length is checked against the available bytes, and invalid input is a `BerError`. Nested
elements are decoded only on request.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

BOOLEAN: Final = 0x01
INTEGER: Final = 0x02
OCTETS: Final = 0x04
ENUMERATED: Final = 0x0A
SEQUENCE: Final = 0x30
_LONG_TAG: Final = 0x1F
_LONG_LENGTH: Final = 0x80
_MOST_LENGTH_BYTES: Final = 4
_MOST_INTEGER_BYTES: Final = 8


class BerError(ValueError):
    """The bytes are not valid BER."""


def element(tag: int, *parts: bytes) -> bytes:
    value = b"".join(parts)
    size = len(value)
    if size < _LONG_LENGTH:
        return bytes((tag, size)) + value
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes((tag, _LONG_LENGTH | len(length))) + length + value


def integer(value: int, tag: int = INTEGER) -> bytes:
    size = (value + (value < 0)).bit_length() // 8 + 1
    return element(tag, value.to_bytes(size, "big", signed=True))


def octets(value: bytes | str, tag: int = OCTETS) -> bytes:
    return element(tag, value.encode() if isinstance(value, str) else value)


def boolean(value: bool, tag: int = BOOLEAN) -> bytes:
    return element(tag, b"\xff" if value else b"\x00")


def size_of(data: bytes) -> int | None:
    """The size of the first element, head included; None if the head is incomplete."""
    head = _head(data, 0)
    return None if head is None else head[0] + head[1]


def elements(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Tag and value of each element."""
    at = 0
    while at < len(data):
        head = _head(data, at)
        if head is None or head[0] + head[1] > len(data):
            raise BerError("an element is longer than the data")
        yield data[at], data[head[0] : head[0] + head[1]]
        at = head[0] + head[1]


def read_integer(value: bytes) -> int:
    if not 1 <= len(value) <= _MOST_INTEGER_BYTES:
        raise BerError("an integer has an invalid size")
    return int.from_bytes(value, "big", signed=True)


def _head(data: bytes, at: int) -> tuple[int, int] | None:
    """Start and length of the value; None if the head is incomplete."""
    if len(data) < at + 2:
        return None
    if data[at] & _LONG_TAG == _LONG_TAG:
        raise BerError("tags of several bytes are not supported")
    size = data[at + 1]
    if size < _LONG_LENGTH:
        return at + 2, size
    count = size & ~_LONG_LENGTH
    if not 1 <= count <= _MOST_LENGTH_BYTES:
        raise BerError("a length is indefinite or has too many bytes")
    if len(data) < at + 2 + count:
        return None
    return at + 2 + count, int.from_bytes(data[at + 2 : at + 2 + count], "big")
