"""Reads the subject, hosts and validity of a certificate.

It parses DER without the cryptography package, whose import would cost tens of milliseconds and megabytes at the first
client certificate and at every start. It verifies nothing: use it for certificates that the TLS handshake has verified,
and for our own. Invalid input is a `ValueError`.
"""

from __future__ import annotations

import binascii
import ipaddress
from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec

_UTC_TIME, _SEQUENCE, _BMP_STRING = 0x17, 0x30, 0x1E
_VERSION, _EXTENSIONS = 0xA0, 0xA3
_DNS_NAME, _IP_ADDRESS = 0x82, 0x87
_COMMON_NAME, _ORGANIZATION, _ALT_NAMES = b"\x55\x04\x03", b"\x55\x04\x0a", b"\x55\x1d\x11"


class Certificate(msgspec.Struct, frozen=True):
    issuer: bytes
    """The issuer's name as DER: equal to the `subject` of the certificate that signed this one."""
    subject: bytes
    common_name: str
    organizations: tuple[str, ...]
    not_before: datetime
    not_after: datetime
    hosts: frozenset[str]
    """The DNS names and addresses that the certificate is valid for."""


def read_certificate(der: bytes) -> Certificate:
    try:
        return _certificate(der)
    except IndexError as error:
        raise ValueError("not a DER certificate") from error


def read_pem(pem: bytes) -> Certificate:
    """The first certificate of a PEM file."""
    _, begin, rest = pem.partition(b"-----BEGIN CERTIFICATE-----")
    body, end, _ = rest.partition(b"-----END CERTIFICATE-----")
    if not begin or not end:
        raise ValueError("not a PEM certificate")
    return read_certificate(binascii.a2b_base64(body))


def _certificate(der: bytes) -> Certificate:
    signed = _first(_first(der, _SEQUENCE), _SEQUENCE)
    fields = [field for field in _items(signed) if field[0] != _VERSION]
    if len(fields) < 6:
        raise ValueError("not a DER certificate")
    (_, issuer), (_, validity), (_, subject) = fields[2:5]
    not_before, not_after = (_time(tag, value) for tag, value in _items(validity))
    names = list(_names(subject))
    common_names = [value for kind, value in names if kind == _COMMON_NAME]
    return Certificate(
        issuer,
        subject,
        # Of several common names the last counts, as in Go.
        common_names[-1] if common_names else "",
        tuple(value for kind, value in names if kind == _ORGANIZATION),
        not_before,
        not_after,
        frozenset(_hosts(fields)),
    )


def _names(name: bytes) -> Iterator[tuple[bytes, str]]:
    for _, part in _items(name):
        for _, attribute in _items(part):
            (_, kind), (tag, value) = _items(attribute)
            yield kind, value.decode("utf-16-be" if tag == _BMP_STRING else "utf-8")


def _hosts(fields: list[tuple[int, bytes]]) -> Iterator[str]:
    for extensions in (value for tag, value in fields if tag == _EXTENSIONS):
        for _, extension in _items(_first(extensions, _SEQUENCE)):
            parts = list(_items(extension))
            if parts[0][1] != _ALT_NAMES:
                continue
            for tag, value in _items(_first(parts[-1][1], _SEQUENCE)):
                if tag == _DNS_NAME:
                    yield value.decode("ascii")
                elif tag == _IP_ADDRESS:
                    yield str(ipaddress.ip_address(value))


def _time(tag: int, value: bytes) -> datetime:
    text = value.decode("ascii")
    if tag == _UTC_TIME:
        # Two digits mean 1950 to 2049 in a certificate, not what strptime makes of them.
        text = ("19" if text[:2] >= "50" else "20") + text
    if len(text) != 15 or text[-1] != "Z" or not text[:-1].isdecimal():
        raise ValueError(f"not a time of a certificate: {text}")
    # Not by strptime, whose first call imports modules for milliseconds.
    month, day, hour, minute, second = (int(text[at : at + 2]) for at in range(4, 14, 2))
    return datetime(int(text[:4]), month, day, hour, minute, second, tzinfo=UTC)


def _first(der: bytes, tag: int) -> bytes:
    """The contents of the first element, which must have the tag."""
    found, value = next(_items(der), (0, b""))
    if found != tag:
        raise ValueError("not a DER certificate")
    return value


def _items(der: bytes) -> Iterator[tuple[int, bytes]]:
    """The elements one after the other: tag and contents."""
    at = 0
    while at < len(der):
        tag, length = der[at], der[at + 1]
        at += 2
        if length & 0x80:
            size = length & 0x7F
            length = int.from_bytes(der[at : at + size])
            at += size
        if at + length > len(der):
            raise ValueError("not a DER certificate")
        yield tag, der[at : at + length]
        at += length
