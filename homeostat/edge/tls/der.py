"""Writes DER, the encoding of certificates. Pure.

Only what a certificate needs. `server/pki/certificate.py` reads it.
"""

from __future__ import annotations

import base64
from datetime import UTC, datetime

_TWO_DIGITS_UNTIL = 2050
"""Years from then on are written with four digits."""
_LINE = 64


def element(tag: int, *contents: bytes) -> bytes:
    body = b"".join(contents)
    size = len(body)
    if size < 0x80:
        return bytes((tag, size)) + body
    digits = size.to_bytes((size.bit_length() + 7) // 8)
    return bytes((tag, 0x80 | len(digits))) + digits + body


def sequence(*contents: bytes) -> bytes:
    return element(0x30, *contents)


def integer(value: int) -> bytes:
    """Not for negative ones."""
    return element(0x02, value.to_bytes(value.bit_length() // 8 + 1))


def octets(value: bytes) -> bytes:
    return element(0x04, value)


def bits(value: bytes, unused: int = 0) -> bytes:
    return element(0x03, bytes((unused,)), value)


def text(value: str) -> bytes:
    return element(0x0C, value.encode())


def identifier(dotted: str) -> bytes:
    """An object identifier such as `2.5.4.3`."""
    first, second, *rest = map(int, dotted.split("."))
    return element(0x06, b"".join(map(_base_128, (40 * first + second, *rest))))


def _base_128(number: int) -> bytes:
    digits = [number & 0x7F]
    while number := number >> 7:
        digits.append(0x80 | number & 0x7F)
    return bytes(reversed(digits))


def time(at: datetime) -> bytes:
    """Whole seconds."""
    at = at.astimezone(UTC)
    written = at.strftime("%Y%m%d%H%M%SZ").encode()
    return element(0x17, written[2:]) if at.year < _TWO_DIGITS_UNTIL else element(0x18, written)


def pem(label: str, der: bytes) -> bytes:
    encoded = base64.b64encode(der).decode()
    lines = (encoded[at : at + _LINE] for at in range(0, len(encoded), _LINE))
    return "\n".join((f"-----BEGIN {label}-----", *lines, f"-----END {label}-----", "")).encode()
