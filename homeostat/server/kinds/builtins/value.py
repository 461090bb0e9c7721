"""Rules on single values that many kinds share: counts, ports, quantities, percentages, choices, addresses."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable

from homeostat.objects.errors import Cause, duplicate, invalid, quoted, required, unsupported
from homeostat.objects.identifiers import Messages, dns1123_subdomain, port_name, qualified_name
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.quantity import Quantity, QuantityError
from homeostat.server.kinds.builtins.members import text

PROTOCOLS = ("TCP", "UDP", "SCTP")
_NOT_NEGATIVE = "must be greater than or equal to 0"
_PORT_RANGE = "must be between 1 and 65535, inclusive"
_PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)


def is_integer(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def not_found(field: str, value: object) -> Cause:
    return Cause("FieldValueNotFound", f"Not found: {quoted(value)}", field)


def check_text(value: str, path: str, rule: Callable[[str], Messages]) -> list[Cause]:
    return [invalid(path, value, each) for each in rule(value)]


def check_duplicates(values: Iterable[str], path: str) -> list[Cause]:
    seen: set[str] = set()
    causes: list[Cause] = []
    for index, value in enumerate(values):
        if value in seen:
            causes.append(duplicate(f"{path}[{index}]", value))
        seen.add(value)
    return causes


def check_required(obj: JsonObject, name: str, path: str, rule: Callable[[str], Messages] | None = None) -> list[Cause]:
    """A text that must be there, and must keep `rule`."""
    value = text(obj, name)
    if not value:
        return [required(f"{path}.{name}")]
    return check_text(value, f"{path}.{name}", rule) if rule else []


def check_counts(obj: JsonObject, path: str, *names: str) -> list[Cause]:
    """Numbers that may be absent and may not be negative."""
    return [
        invalid(f"{path}.{name}", obj[name], _NOT_NEGATIVE)
        for name in names
        if is_integer(obj.get(name)) and obj[name] < 0
    ]


def check_choice(obj: JsonObject, name: str, path: str, known: Iterable[str]) -> list[Cause]:
    """One of the known words, or absent."""
    value = obj.get(name)
    if not isinstance(value, str) or value in known:
        return []
    return [unsupported(f"{path}.{name}" if path else name, value, known)]


def check_port(value: Json, path: str) -> list[Cause]:
    if is_integer(value) and not 1 <= value <= 65535:
        return [invalid(path, value, _PORT_RANGE)]
    return []


def check_port_or_name(value: Json, path: str) -> list[Cause]:
    return check_text(value, path, port_name) if isinstance(value, str) else check_port(value, path)


def check_protocol(obj: JsonObject, path: str) -> list[Cause]:
    return check_choice(obj, "protocol", path, PROTOCOLS)


def quantity_of(value: Json) -> Quantity | None:
    try:
        return Quantity.parse(str(value)) if isinstance(value, str) or is_integer(value) else None
    except QuantityError:
        return None


def check_quantity(value: Json, path: str) -> list[Cause]:
    """A quantity that is not negative."""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return []
    try:
        amount = Quantity.parse(str(value))
    except QuantityError as error:
        return [invalid(path, value, error.reason)]
    return [invalid(path, value, _NOT_NEGATIVE)] if amount.nanos < 0 else []


def check_quantities(amounts: JsonObject, path: str) -> list[Cause]:
    causes: list[Cause] = []
    for name, value in amounts.items():
        causes += [invalid(f"{path}[{name}]", name, each) for each in qualified_name(name)]
        causes += check_quantity(value, f"{path}[{name}]")
    return causes


def check_count_or_percent(value: Json, path: str, *, at_most_all: bool = False) -> list[Cause]:
    """A count that is not negative or a percentage; `at_most_all` refuses more than 100%."""
    if isinstance(value, str):
        if not re.fullmatch("[0-9]+%", value):
            return [invalid(path, value, _PERCENT)]
        if at_most_all and int(value[:-1][:9]) > 100:
            return [invalid(path, value, "must not be greater than 100%")]
    elif is_integer(value) and value < 0:
        return [invalid(path, value, _NOT_NEGATIVE)]
    return []


def check_address(value: str, path: str) -> list[Cause]:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return [invalid(path, value, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")]
    return []


_path = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+").fullmatch


def check_domain_path(value: str, path: str) -> list[Cause]:
    """A name that begins with a domain of its owner, such as `acme.io/foo`."""
    domain, _, rest = value.partition("/")
    if not domain or not rest:
        return [invalid(path, value, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    causes = check_text(domain, path, dns1123_subdomain)
    return causes if _path(rest) else [*causes, invalid(path, rest, "Invalid path: a URL may not have its characters")]
