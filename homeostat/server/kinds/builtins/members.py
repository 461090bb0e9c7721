"""Reads members of JSON objects whose types are not known.

A member of the wrong type reads as absent, so that no rule of a built-in kind can raise on any JSON. `struct` and
`items` return shared empty values for absent members: do not change these.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from homeostat.objects.json import Json, JsonObject

_NOTHING: JsonObject = {}
_NO_ITEMS: list[Any] = []


def struct(obj: Json, *names: str) -> JsonObject:
    """The object at a path of member names."""
    for name in names:
        obj = obj.get(name) if isinstance(obj, dict) else None
    return obj if isinstance(obj, dict) else _NOTHING


def items(obj: JsonObject, name: str) -> list[Json]:
    value = obj.get(name)
    return value if isinstance(value, list) else _NO_ITEMS


def structs(obj: JsonObject, name: str) -> list[JsonObject]:
    return [each for each in items(obj, name) if isinstance(each, dict)]


def numbered(obj: JsonObject, name: str, path: str) -> Iterator[tuple[str, JsonObject]]:
    """The objects of a list, each with its field path."""
    base = f"{path}.{name}" if path else name
    for index, each in enumerate(items(obj, name)):
        if isinstance(each, dict):
            yield f"{base}[{index}]", each


def strings(obj: JsonObject, name: str) -> list[str]:
    return [each for each in items(obj, name) if isinstance(each, str)]


def text(obj: JsonObject, name: str) -> str:
    value = obj.get(name)
    return value if isinstance(value, str) else ""


def integer(obj: JsonObject, name: str, otherwise: int = 0) -> int:
    value = obj.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


def set_default(obj: JsonObject, name: str, value: Json) -> None:
    """Fill a member that is absent, null or the empty string, which Kubernetes cannot tell apart."""
    if obj.get(name) in (None, ""):
        obj[name] = value


def ensure_struct(obj: JsonObject, name: str) -> JsonObject | None:
    """The object member, created if absent; None if it has another type."""
    value = obj.get(name)
    if value is None:
        value = obj[name] = {}
    return value if isinstance(value, dict) else None
