"""What differs between a declared value and the one on the server. Pure.

By default only what is declared counts: objects by key, lists as a whole, and a declared null equals a missing field.
In an exact comparison fields that only the server has count, too. Numbers are compared by value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal

from homeostat.objects.json import Json, JsonObject
from homeostat.operators.sync.engine.payload import pointer
from homeostat.operators.sync.engine.payload.pointer import MISSING
from homeostat.operators.sync.engine.payload.value import is_same

Mode = Literal["declared", "exact"]
HIDDEN: Final = "***"


@dataclass(frozen=True, slots=True)
class Difference:
    """`add`: only the server has it. `remove`: only the declaration has it. `replace`: they differ."""

    resource: str
    path: str
    operation: Literal["add", "remove", "replace"]
    local: Json
    remote: Json

    @property
    def entry(self) -> JsonObject:
        return {
            "ResourcePath": self.resource,
            "Path": self.path,
            "Operation": self.operation,
            "Local": self.local,
            "Remote": self.remote,
        }


def differences(resource: str, local: Json, remote: Json, mode: Mode = "declared") -> list[Difference]:
    """Sorted by pointer; a missing remote value is one replacement of the whole."""
    if remote is MISSING:
        return [Difference(resource, "", "replace", local, None)]
    return sorted(_differences(resource, (), local, remote, mode), key=lambda each: each.path)


def is_equal(local: Json, remote: Json, mode: Mode = "declared") -> bool:
    if mode == "exact":
        return is_same(local, remote)
    if isinstance(local, dict) and isinstance(remote, dict):
        return all(is_equal(item, remote[key]) if key in remote else item is None for key, item in local.items())
    return is_same(local, remote)


def _differences(resource: str, tokens: tuple[str, ...], local: Json, remote: Json, mode: Mode) -> Iterator[Difference]:
    if isinstance(local, dict) and isinstance(remote, dict):
        for key, item in local.items():
            below = (*tokens, key)
            if key in remote:
                yield from _differences(resource, below, item, remote[key], mode)
            elif item is not None or mode == "exact":
                yield Difference(resource, pointer.join(*below), "remove", item, None)
        if mode == "exact":
            for key in remote.keys() - local.keys():
                yield Difference(resource, pointer.join(*tokens, key), "add", None, remote[key])
    elif not is_same(local, remote):
        yield Difference(resource, pointer.join(*tokens), "replace", local, remote)


def masked(found: Iterable[Difference], secrets: Iterable[str]) -> list[Difference]:
    """The same without the values at these pointers, in both sides."""
    hidden = [pointer.parse(each) for each in secrets]
    return [_masked(each, hidden) for each in found]


def _masked(found: Difference, hidden: list[list[str]]) -> Difference:
    at = pointer.parse(found.path)
    for each in hidden:
        if each == at[: len(each)]:
            return replace(found, local=_hide(found.local), remote=_hide(found.remote))
        if at == each[: len(at)]:
            inner = pointer.join(*each[len(at) :])
            found = replace(found, local=hide_at(found.local, inner), remote=hide_at(found.remote, inner))
    return found


def hide_at(value: Json, at: str) -> Json:
    found = pointer.get(value, at)
    return value if found is MISSING or found is None else pointer.put(value, at, HIDDEN)


def _hide(value: Json) -> Json:
    return value if value is None else HIDDEN
