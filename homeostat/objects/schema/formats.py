"""The string formats that Kubernetes checks in custom objects.

A format that is not listed here is documentation and checks nothing; that includes `int32` and `int64`. Dashes in the
name do not matter (`date-time` is `datetime`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date
from ipaddress import AddressValueError, IPv6Address
from urllib.parse import urlsplit

from homeostat.objects.json import Json
from homeostat.objects.time.duration import DurationError, parse_duration
from homeostat.objects.time.timestamp import TimestampError, parse_time

Check = Callable[[str], bool]


def format_check(name: str) -> Check | None:
    """The check of a format; None for a format that is not checked."""
    return _CHECKS.get(name.replace("-", ""))


def unrecognized_formats(schema: Json) -> Iterator[str]:
    """Those of texts that are not listed here, in the schema of a definition and in those below it."""
    if not isinstance(schema, dict):
        return
    name = schema.get("format")
    if isinstance(name, str) and name and schema.get("type") == "string" and format_check(name) is None:
        yield name
    for word in ("items", "additionalProperties", "not"):
        yield from unrecognized_formats(schema.get(word))
    for word in ("allOf", "anyOf", "oneOf"):
        for each in schema.get(word) or ():
            yield from unrecognized_formats(each)
    for each in (schema.get("properties") or {}).values():
        yield from unrecognized_formats(each)


def _pattern(expression: str, flags: int = 0) -> Check:
    fullmatch = re.compile(expression, flags | re.ASCII).fullmatch
    return lambda text: fullmatch(text) is not None


_day = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII).fullmatch


def _is_date(text: str) -> bool:
    try:
        return _day(text) is not None and bool(date.fromisoformat(text))
    except ValueError:
        return False


def _is_time(text: str) -> bool:
    try:
        parse_time(text)
    except TimestampError:
        return False
    return True


_worded_duration = re.compile(r"\s*(?:\d+\s*[A-Za-zµ]+\s*)+", re.ASCII)
_word = re.compile(r"\d\s*([A-Za-zµ]+)", re.ASCII)
_is_time_unit = re.compile(
    r"ns|nano.*|us|µs|micro.*|ms|milli.*|s|sec.*|m|min.*|h|hr|hour.*|d|day.*|w|wk|week.*", re.IGNORECASE
).fullmatch


def _is_duration(text: str) -> bool:
    """Go's notation, or words as in `2 days 3 hours`."""
    try:
        parse_duration(text)
    except DurationError:
        if len(text) > 256 or not _worded_duration.fullmatch(text):
            return False
        return any(_is_time_unit(unit) for unit in _word.findall(text))
    return True


_octets = re.compile(r"\d{1,3}(\.\d{1,3}){3}", re.ASCII).fullmatch


def _is_ipv4(text: str) -> bool:
    """Leading zeros are tolerated, as Kubernetes tolerates them."""
    return bool(_octets(text)) and all(int(part) <= 255 for part in text.split("."))


def _is_ipv6(text: str) -> bool:
    try:
        IPv6Address(text)
    except AddressValueError:
        return False
    return "%" not in text


def _is_cidr(text: str) -> bool:
    address, slash, bits = text.partition("/")
    if not slash or not (bits.isascii() and bits.isdigit()) or len(bits) > 3:
        return False
    return (_is_ipv4(address) and int(bits) <= 32) or (_is_ipv6(address) and int(bits) <= 128)


def _is_uri(text: str) -> bool:
    """An absolute URI or an absolute path, as an HTTP request line has it."""
    if not text or any(char <= " " or char == "\x7f" for char in text):
        return False
    if text.startswith("/") or text == "*":
        return True
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return False
    return bool(re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", text)) and bool(parts.netloc or parts.path or parts.query)


_is_hostname_text = re.compile(r"[^\W_](-?[^\W_]{0,62})?|([^\W_]([^\W_]|-){0,62}\.)+[^\W\d_]{2,63}").fullmatch


def _is_hostname(text: str) -> bool:
    if len(text.encode(errors="replace")) > 255 or not _is_hostname_text(text):
        return False
    return all(len(part) <= 63 and not part.endswith("-") for part in text.split("."))


_email = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*@\S+"
_is_address = re.compile(_email).fullmatch
_named_address = re.compile(r"[^<>@]*<([^<>]+)>").fullmatch


def _is_email(text: str) -> bool:
    if len(text) > 320:
        return False
    named = _named_address(text)
    address = named[1] if named else text
    return bool(_is_address(address)) and not re.search(r"[<>(),;:\\\"\[\]@ ]", address.partition("@")[2])


_separated = re.compile(r"[0-9a-f]{2}(?:([:-])[0-9a-f]{2})(?:\1[0-9a-f]{2})*", re.IGNORECASE).fullmatch
_dotted = re.compile(r"[0-9a-f]{4}(?:\.[0-9a-f]{4})+", re.IGNORECASE).fullmatch


def _is_mac(text: str) -> bool:
    """EUI-48, EUI-64 or the 20 octets of InfiniBand."""
    if _separated(text):
        return (len(text) + 1) // 3 in (6, 8, 20)
    return _dotted(text) is not None and (len(text) + 1) // 5 * 2 in (6, 8, 20)


def _is_isbn10(text: str) -> bool:
    digits = re.sub(r"[\s-]", "", text)
    if not re.fullmatch(r"\d{9}[\dX]", digits, re.ASCII):
        return False
    total = sum((at + 1) * (10 if char == "X" else int(char)) for at, char in enumerate(digits))
    return total % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = re.sub(r"[\s-]", "", text)
    if not re.fullmatch(r"\d{13}", digits, re.ASCII):
        return False
    return sum(int(char) * (3 if at % 2 else 1) for at, char in enumerate(digits)) % 10 == 0


def _is_credit_card(text: str) -> bool:
    digits = re.sub(r"[^0-9]", "", text)
    if not 13 <= len(digits) <= 19:
        return False
    doubled = (int(char) * (1 + at % 2) for at, char in enumerate(reversed(digits)))
    return sum(each - 9 if each > 9 else each for each in doubled) % 10 == 0


_HEX = "[0-9a-f]"
_COLOUR = r"(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])"

_CHECKS: dict[str, Check] = {
    "bsonobjectid": _pattern("[0-9a-fA-F]{24}"),
    "byte": _pattern("([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"),
    "cidr": _is_cidr,
    "creditcard": _is_credit_card,
    "date": _is_date,
    "datetime": _is_time,
    "duration": _is_duration,
    "email": _is_email,
    "hexcolor": _pattern("#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "hostname": _is_hostname,
    "ipv4": _is_ipv4,
    "ipv6": _is_ipv6,
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "mac": _is_mac,
    "password": lambda _: True,
    "rgbcolor": _pattern(rf"rgb\(\s*{_COLOUR}\s*,\s*{_COLOUR}\s*,\s*{_COLOUR}\s*\)"),
    "ssn": _pattern(r"\d{3}[- ]?\d{2}[- ]?\d{4}"),
    "uri": _is_uri,
    "uuid": _pattern(f"{_HEX}{{8}}-?({_HEX}{{4}}-?){{3}}{_HEX}{{12}}", re.IGNORECASE),
    "uuid3": _pattern(f"{_HEX}{{8}}-?{_HEX}{{4}}-?3{_HEX}{{3}}-?{_HEX}{{4}}-?{_HEX}{{12}}", re.IGNORECASE),
    "uuid4": _pattern(f"{_HEX}{{8}}-?{_HEX}{{4}}-?4{_HEX}{{3}}-?[89ab]{_HEX}{{3}}-?{_HEX}{{12}}", re.IGNORECASE),
    "uuid5": _pattern(f"{_HEX}{{8}}-?{_HEX}{{4}}-?5{_HEX}{{3}}-?[89ab]{_HEX}{{3}}-?{_HEX}{{12}}", re.IGNORECASE),
}
