"""How far a follower of events has come, as the `id` of an event and as what `Last-Event-ID` says. Pure.

Revisions are the server's and the same for all who serve it. Of one kind the changes come in order, so that a revision
says it all: `1240`. Kinds are followed apart, and one may be told of sooner than another: `1200.Note-1240.Page-1251`
says that everything up to 1200 was told, and of these kinds everything up to theirs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

NOWHERE = "0"
"""A position that is older than any history."""
_is_position = re.compile(r"\d{1,18}(\.[A-Za-z][A-Za-z0-9]*-\d{1,18})*").fullmatch


class Position(msgspec.Struct, frozen=True):
    floor: int
    kinds: dict[str, int] = {}

    def of(self, kind: str) -> int:
        return self.kinds.get(kind, self.floor)

    def __str__(self) -> str:
        return ".".join([str(self.floor), *(f"{kind}-{revision}" for kind, revision in sorted(self.kinds.items()))])


def read_position(text: str) -> Position:
    """What is no position is `NOWHERE`: whoever comes with it has missed something."""
    if not text.isascii() or not _is_position(text):
        return Position(0)
    floor, *named = text.split(".")
    kinds = (each.rpartition("-") for each in named)
    return Position(int(floor), {kind: int(revision) for kind, _, revision in kinds})


def position_of(reached: Mapping[str, int]) -> Position:
    """By kind; what goes without a name counts for the floor only. All kinds are named: who comes back is to know which
    were there.
    """
    return Position(min(reached.values(), default=0), {kind: each for kind, each in reached.items() if kind})
