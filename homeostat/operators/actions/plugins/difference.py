"""Compares what exists with what is declared, in the declared fields only. Pure.

Fields that a server adds are ignored. Objects are compared member by member, lists as a whole, because their items have
no key. Numbers are compared by value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from homeostat.objects.errors import quoted
from homeostat.objects.json import Json

_LONGEST_VALUE = 80


class Difference(NamedTuple):
    path: str
    declared: Json
    found: Json

    def __str__(self) -> str:
        return f"{self.path or '(root)'}: {_short(self.found)} becomes {_short(self.declared)}"


def differences(declared: Json, found: Json, path: str = "") -> Iterator[Difference]:
    if isinstance(declared, dict) and isinstance(found, dict):
        for key, value in declared.items():
            below = f"{path}.{key}" if path else key
            if key in found:
                yield from differences(value, found[key], below)
            elif value is not None:
                yield Difference(below, value, None)
    elif not _is_same(declared, found):
        yield Difference(path, declared, found)


def _is_same(one: Json, other: Json) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(
            not any(differences(mine, theirs)) for mine, theirs in zip(one, other, strict=True)
        )
    return bool(one == other)


def _short(value: Json) -> str:
    text = quoted(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."
