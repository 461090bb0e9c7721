"""Encodes LDAP filters such as `(&(objectClass=user)(!(uid=root)))` (RFC 4515). Pure."""

from __future__ import annotations

import re
from typing import Final

from homeostat.external.ldap.ber import boolean, element, octets

_DEEPEST: Final = 50
_SETS: Final = {"&": 0xA0, "|": 0xA1}
_NOT: Final = 0xA2
_SUBSTRINGS: Final = 0xA4
_PRESENT: Final = 0x87
_MATCHES: Final = {"=": 0xA3, ">=": 0xA5, "<=": 0xA6, "~=": 0xA8}
_EXTENSIBLE: Final = 0xA9
_item = re.compile(r"(?P<name>[A-Za-z0-9.;-]*)(?P<more>(?::[A-Za-z0-9.-]+)*)(?P<match>:=|>=|<=|~=|=)(?P<value>[^()]*)")
_escape = re.compile(rb"\\([0-9A-Fa-f]{2})?")


class FilterError(ValueError):
    """The text is not a filter."""


def encode_filter(text: str) -> bytes:
    try:
        encoded, end = _filter(text, 0, 0)
    except IndexError:
        raise FilterError(f"{text!r} lacks a closing parenthesis") from None
    if end != len(text):
        raise FilterError(f"{text!r} has characters after its last parenthesis")
    return encoded


def _filter(text: str, at: int, depth: int) -> tuple[bytes, int]:
    if depth > _DEEPEST:
        raise FilterError("the filter is too deep")
    if text[at] != "(":
        raise FilterError(f"{text!r} has no ( at {at}")
    sign = text[at + 1]
    if sign in _SETS:
        parts, at = _several(text, at + 2, depth)
        encoded = element(_SETS[sign], *parts)
    elif sign == "!":
        inner, at = _filter(text, at + 2, depth + 1)
        encoded = element(_NOT, inner)
    else:
        encoded, at = _simple(text, at + 1)
    if text[at] != ")":
        raise FilterError(f"{text!r} has no ) at {at}")
    return encoded, at + 1


def _several(text: str, at: int, depth: int) -> tuple[list[bytes], int]:
    parts = []
    while text[at] == "(":
        part, at = _filter(text, at, depth + 1)
        parts.append(part)
    return parts, at


def _simple(text: str, at: int) -> tuple[bytes, int]:
    found = _item.match(text, at)
    if found is None:
        raise FilterError(f"{text!r} has no comparison at {at}")
    name, match, value = found["name"], found["match"], found["value"]
    if match == ":=":
        return _extensible(name, found["more"], value), found.end()
    if not name or found["more"]:
        raise FilterError(f"{text!r} compares no attribute at {at}")
    if match == "=" and value == "*":
        return octets(name, _PRESENT), found.end()
    if match == "=" and "*" in value:
        return _substrings(name, value), found.end()
    return element(_MATCHES[match], octets(name), octets(_value(value))), found.end()


def _substrings(name: str, value: str) -> bytes:
    first, *middle, last = value.split("*")
    parts = [octets(_value(first), 0x80)] if first else []
    parts += [octets(_value(each), 0x81) for each in middle if each]
    parts += [octets(_value(last), 0x82)] if last else []
    return element(_SUBSTRINGS, octets(name), element(0x30, *parts))


def _extensible(name: str, more: str, value: str) -> bytes:
    words = more.split(":")[1:]
    is_dn = bool(words) and words[0].lower() == "dn"
    rules = words[1:] if is_dn else words
    if len(rules) > 1 or not (name or rules):
        raise FilterError(f'"{name}{more}:=" names no rule and no attribute, or several rules')
    parts = [octets(rules[0], 0x81)] if rules else []
    parts += [octets(name, 0x82)] if name else []
    parts += [octets(_value(value), 0x83)]
    parts += [boolean(True, 0x84)] if is_dn else []
    return element(_EXTENSIBLE, *parts)


def _value(text: str) -> bytes:
    def plain(found: re.Match[bytes]) -> bytes:
        if found[1] is None:
            raise FilterError(f"{text!r} has a backslash that escapes nothing")
        return bytes.fromhex(found[1].decode())

    return _escape.sub(plain, text.encode())
