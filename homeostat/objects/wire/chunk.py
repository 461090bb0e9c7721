"""What every message of protobuf is written with: numbers of variable length, and chunks with their tag and length."""

from __future__ import annotations

_SMALL = tuple(bytes((number,)) for number in range(128))


def varint(number: int) -> bytes:
    if 0 <= number < 128:
        return _SMALL[number]
    number &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def chunk(tag: bytes, data: bytes) -> bytes:
    size = len(data)
    return b"%b%b%b" % (tag, _SMALL[size] if size < 128 else varint(size), data)
