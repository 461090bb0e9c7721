"""The messages of LDAP that are needed to bind and to search: made, and read. Pure. (RFC 4511, RFC 2696)

What does not fit is an `LdapError`, whatever is wrong with it.
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
"""Constraint, no such object, no such name, no such way, wrong credentials, no rights, unwilling: not this one."""
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
    """The directory cannot be reached, refuses, or does not speak LDAP. The text holds no password."""


class Entry(NamedTuple):
    name: str
    """The distinguished name."""
    attributes: dict[str, list[str]]
    """By names in lower case; values that are no text are left out."""


class Received(NamedTuple):
    number: int
    tag: int
    value: bytes
    controls: bytes


class Result(NamedTuple):
    code: int
    told: str


def message(number: int, operation: bytes, controls: bytes = b"") -> bytes:
    return element(MESSAGE, integer(number), operation, controls)


def bind_request(name: str, password: str) -> bytes:
    return element(_BIND, integer(_VERSION), octets(name), octets(password, _SIMPLE))


def search_request(base: str, wanted: str, attributes: Sequence[str]) -> bytes:
    """Without limits of its own: the server has some, and so has who asks."""
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
    """The control that asks for a page, and with a cookie for the one after."""
    value = element(SEQUENCE, integer(_PAGE), octets(cookie))
    return element(_CONTROLS, element(SEQUENCE, octets(_PAGED), octets(value)))


@contextlib.contextmanager
def reading() -> Iterator[None]:
    try:
        yield
    except (ValueError, IndexError, StopIteration) as error:
        raise LdapError("the directory does not speak LDAP") from error


def read_message(data: bytes) -> Received:
    with reading():
        (_, number), (tag, value), *more = list(elements(data))
        controls = next((each for kind, each in more if kind == _CONTROLS), b"")
        return Received(read_integer(number), tag, value, controls)


def read_result(received: Received, expected: int) -> Result:
    if received.tag != expected:
        raise LdapError("the directory answered something else")
    with reading():
        (_, code), _, (_, told), *_ = list(elements(received.value))
        number = read_integer(code)
    return Result(number, f"code {number} {told.decode(errors='replace')[:_LONGEST_TEXT]}".strip())


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
    """Of the page after this one; empty where this was the last."""
    with reading():
        for _, control in elements(received.controls):
            (_, kind), *more = list(elements(control))
            value = next((each for tag, each in more if tag == OCTETS), None)
            if kind == _PAGED.encode() and value is not None:
                _, (_, cookie) = list(elements(next(elements(value))[1]))
                return cookie
    return b""
