"""Which fields a resource declares, remembered from one sync to the next. Pure.

A comparison counts declared fields only, so it does not see that a field was removed from a file. The fields of the
last sync show it: one that is no longer declared, and that the server still has, is a change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Final

import msgspec

from homeostat.objects.json import Json
from homeostat.operators.sync.engine.metadata.rules import Rules
from homeostat.operators.sync.engine.payload import pointer
from homeostat.operators.sync.engine.payload.pointer import MISSING

_MOST: Final = 200
"""Fields that are remembered one by one; of a larger payload only those at the top are."""
_DEEPEST: Final = 16


def shape_of(value: Json) -> tuple[str, ...]:
    """Pointers to all fields of objects; lists are one field each."""
    if not isinstance(value, dict):
        return ()
    found = list[str]()
    for each in _pointers(value, "", _DEEPEST):
        if len(found) == _MOST:
            return tuple(sorted(pointer.join(key) for key in value)[:_MOST])
        found.append(each)
    return tuple(sorted(found))


def _pointers(value: Json, at: str, depth: int) -> Iterator[str]:
    for key, item in value.items():
        inner = at + pointer.join(key)
        if isinstance(item, dict) and item and depth:
            yield from _pointers(item, inner, depth - 1)
        else:
            yield inner


def dropped(shape: Sequence[str], local: Json, remote: Json) -> list[str]:
    """The fields of a shape that are no longer declared and that the server has."""
    if not shape or not isinstance(local, dict) or not isinstance(remote, dict):
        return []
    return [
        each for each in shape
        if _ends(local, each) and pointer.get(remote, each) not in (MISSING, None)
    ]  # fmt: skip


def _ends(local: Json, at: str) -> bool:
    """Whether nothing is declared there; below a value that is no object, another value took the place."""
    for token in pointer.parse(at):
        if not isinstance(local, dict):
            return False
        if token not in local:
            return True
        local = local[token]
    return False


def digest(value: Json) -> str:
    """Of any payload, the same for the same value."""
    data = value if isinstance(value, bytes) else msgspec.json.encode(value, order="deterministic")
    return blake2b(data, digest_size=16).hexdigest()


def content_digest(value: Json, rules: Rules) -> str:
    """Of a payload without its identity, so that a renamed resource has the same."""
    if isinstance(value, dict):
        for each in (rules.id.plain, rules.alias.plain):
            if each and each != "/":
                value = pointer.without(value, each)
    return digest(value)
