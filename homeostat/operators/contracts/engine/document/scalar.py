"""Resolves YAML scalars of contracts to null, booleans, numbers, timestamps or strings. Pure.

The dialect is that of go-yaml v3: `yes` and `on` are strings; `0755`, `0o755` and `0x1ED` are numbers; an unquoted date
is a timestamp. kubectl uses another dialect (`objects/yaml/scalar.py`).
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as BinasciiError
from datetime import UTC, datetime, timedelta, timezone
from math import inf
from typing import Final, NamedTuple

from homeostat.objects.json import Json

_WORDS: Final[dict[str, Json]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_integer = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))").fullmatch
_BASES: Final = {2: 16, 3: 2, 4: 8, 5: 10}
"""Of the digits, by their group."""
_is_float = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?").fullmatch
_time = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?:[Tt ]([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:\.([0-9]{1,9}))?(Z|[-+][0-9]{2}:[0-9]{2})?)?"
).fullmatch
_LONGEST_NUMBER: Final = 70


_STARTS: Final = frozenset("0123456789+-.")


class Scalar(NamedTuple):
    value: Json
    is_time: bool = False
    """`value` is then the time in RFC 3339, as a schema sees it; the text as it was written is a typed field's."""


def resolve(text: str) -> Scalar:
    """Resolve a plain scalar; `.inf` and `.nan` have no JSON form and stay texts."""
    if text in _WORDS:
        return Scalar(_WORDS[text])
    if text[0] not in _STARTS:
        return Scalar(text)
    found = _time(text)
    if found and (written := _rfc3339(*found.groups())):
        return Scalar(written, is_time=True)
    return Scalar(_number(text))


def is_text(text: str) -> bool:
    """Whether a plain scalar is certainly a string: the usual case, for which numbers and times need no check."""
    return text not in _WORDS and text[0] not in _STARTS


def resolve_tagged(text: str, tag: str) -> Scalar:
    """Resolve a scalar with an explicit tag; raises `ValueError` if it does not match the tag."""
    name = tag.removeprefix("tag:yaml.org,2002:")
    if name == "binary":
        return Scalar(_binary(text))
    if name not in ("null", "bool", "int", "float", "timestamp"):
        return Scalar(text)
    found = resolve(text)
    fits = {
        "null": found.value is None,
        "bool": isinstance(found.value, bool),
        "int": type(found.value) is int,
        "float": type(found.value) in (int, float),
        "timestamp": found.is_time,
    }
    if not fits[name]:
        raise ValueError(f"cannot decode {text!r} as a !!{name}")
    return Scalar(float(found.value)) if name == "float" else found


def _binary(text: str) -> str:
    try:
        return b64decode(text, validate=False).decode()
    except (BinasciiError, UnicodeDecodeError) as error:
        raise ValueError("!!binary value contains invalid base64 data") from error


def _number(text: str) -> Json:
    plain = text.replace("_", "")
    found = _integer(plain) if len(plain) < _LONGEST_NUMBER else None
    if found:
        at = found.lastindex or 0
        value = int(found[1] + found[at], _BASES[at])
        if -(2**63) <= value < 2**64:
            return value
    if not _is_float(plain) or abs(float(plain)) == inf:
        return text
    return float(plain)


def _rfc3339(
    year: str, month: str, day: str, hour: str | None, minute: str, second: str, fraction: str | None, zone: str | None
) -> str:
    """Return the timestamp in RFC 3339; empty for a day or an hour that does not exist."""
    try:
        time = datetime(
            int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0), tzinfo=_zone(zone)
        )
    except ValueError:
        return ""
    digits = f".{fraction}".rstrip("0").rstrip(".") if fraction else ""
    offset = f"{time:%z}"
    return f"{time:%Y-%m-%dT%H:%M:%S}{digits}{'Z' if zone in (None, 'Z') else f'{offset[:3]}:{offset[3:5]}'}"


def _zone(zone: str | None) -> timezone:
    if zone is None or zone == "Z":
        return UTC
    away = timedelta(hours=int(zone[1:3]), minutes=int(zone[4:]))
    return timezone(-away if zone[0] == "-" else away)
