"""The LDAP messages for bind and search, encoded and decoded (RFC 4511, RFC 2696). Pure.

An invalid message is an `LdapError`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from homeostat.external.ldap.ber import (
    ENUMERATED,
    OCTETS,
    SEQUENCE,
    boolean,
    element,
    elements,
    integer,
    octets,
    read_integer,
)
from homeostat.external.ldap.filter import encode_filter

MESSAGE: Final = SEQUENCE
BOUND, ENTRY, DONE, REFERENCE, EXTENDED = 0x61, 0x64, 0x65, 0x73, 0x78
UNBIND: Final = element(0x42)
START_TLS: Final = element(0x77, octets("1.3.6.1.4.1.1466.20037", 0x80))
SUCCESS: Final = 0
WRONG: Final = frozenset({19, 32, 34, 48, 49, 50, 53})
"""Result codes of a refused bind: constraint violation, no such object, invalid DN syntax, inappropriate
authentication, invalid credentials, insufficient access rights, unwilling to perform.
"""
_BIND, _SEARCH = 0x60, 0x63
_SIMPLE: Final = 0x80
_CONTROLS: Final = 0xA0
_PAGED: Final = "1.2.840.113556.1.4.319"
_PAGE: Final = 500
_VERSION: Final = 3
_WHOLE_TREE: Final = 2
_NO_ALIASES: Final = 0
_LONGEST_TEXT: Final = 200


class LdapError(Exception):
    """The directory is unreachable, refuses the request, or violates the protocol. The text holds no password."""


class Entry(NamedTuple):
    name: str
    """The distinguished name."""
    attributes: dict[str, list[str]]
    """By lower-case names; values that are not text are left out."""


class Received(NamedTuple):
    number: int
    tag: int
    value: bytes
    controls: bytes


class Result(NamedTuple):
    code: int
    text: str


def message(number: int, operation: bytes, controls: bytes = b"") -> bytes:
    return element(MESSAGE, integer(number), operation, controls)


def bind_request(name: str, password: str) -> bytes:
    return element(_BIND, integer(_VERSION), octets(name), octets(password, _SIMPLE))


def search_request(base: str, wanted: str, attributes: Sequence[str]) -> bytes:
    """Without limits in the request: the server has its own, and the client counts entries."""
    return element(
        _SEARCH,
        octets(base),
        integer(_WHOLE_TREE, ENUMERATED),
        integer(_NO_ALIASES, ENUMERATED),
        integer(0),
        integer(0),
        boolean(False),
        encode_filter(wanted),
        element(SEQUENCE, *(octets(each) for each in attributes)),
    )


def paging(cookie: bytes) -> bytes:
    """The control that requests the first page, or with a cookie the next one."""
    value = element(SEQUENCE, integer(_PAGE), octets(cookie))
    return element(_CONTROLS, element(SEQUENCE, octets(_PAGED), octets(value)))


@contextlib.contextmanager
def reading() -> Iterator[None]:
    try:
        yield
    except (ValueError, IndexError, StopIteration) as error:
        raise LdapError("the response is not valid LDAP; check LDAP_URL") from error


def read_message(data: bytes) -> Received:
    with reading():
        (_, number), (tag, value), *more = list(elements(data))
        controls = next((each for kind, each in more if kind == _CONTROLS), b"")
        return Received(read_integer(number), tag, value, controls)


def read_result(received: Received, expected: int) -> Result:
    if received.tag != expected:
        raise LdapError("the directory sent an unexpected response")
    with reading():
        (_, code), _, (_, text), *_ = list(elements(received.value))
        number = read_integer(code)
    return Result(number, f"code {number} {text.decode(errors='replace')[:_LONGEST_TEXT]}".strip())


def read_entry(received: Received) -> Entry:
    with reading():
        (_, name), (_, attributes), *_ = list(elements(received.value))
        return Entry(name.decode(), dict(_attribute(each) for _, each in elements(attributes)))


def _attribute(data: bytes) -> tuple[str, list[str]]:
    (_, kind), (_, values), *_ = list(elements(data))
    texts = []
    for _, each in elements(values):
        with contextlib.suppress(UnicodeDecodeError):
            texts.append(each.decode())
    return kind.decode().lower(), texts


def read_cookie(received: Received) -> bytes:
    """The cookie of the next page; empty after the last one."""
    with reading():
        for _, control in elements(received.controls):
            (_, kind), *more = list(elements(control))
            value = next((each for tag, each in more if tag == OCTETS), None)
            if kind == _PAGED.encode() and value is not None:
                _, (_, cookie) = list(elements(next(elements(value))[1]))
                return cookie
    return b""
