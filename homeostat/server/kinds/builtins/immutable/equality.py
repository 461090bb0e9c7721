"""Equality of values as in Kubernetes: absent, null and empty are equal."""

from __future__ import annotations

from homeostat.objects.errors import Cause, forbidden, invalid
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.names import IMMUTABLE
from homeostat.server.kinds.builtins.members import struct


def is_same(new: Json, old: Json) -> bool:
    return bool(new == old) or _stripped(new) == _stripped(old)


def _stripped(value: Json) -> Json:
    match value:
        case dict():
            members = {name: _stripped(member) for name, member in value.items()}
            return {name: member for name, member in members.items() if member is not None} or None
        case list():
            return [_stripped(each) for each in value] or None
        case "":
            return None
    return value


def immutable(new: JsonObject, old: JsonObject, *names: str, path: str = "spec") -> list[Cause]:
    """The members of the object at `path` that differ and may not."""
    before, after = struct(old, path) if path else old, struct(new, path) if path else new
    return [
        invalid(f"{path}.{name}" if path else name, after.get(name), IMMUTABLE)
        for name in names
        if not is_same(after.get(name), before.get(name))
    ]


def only(new: JsonObject, old: JsonObject, names: frozenset[str], message: str) -> list[Cause]:
    """`spec` may change in the named members and in no other."""
    before = {name: value for name, value in struct(old, "spec").items() if name not in names}
    after = {name: value for name, value in struct(new, "spec").items() if name not in names}
    return [] if is_same(after, before) else [forbidden("spec", message)]
