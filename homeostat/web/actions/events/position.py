"""The position of a client in the event stream: the `id` of an event, and the value of `Last-Event-ID`. Pure.

Revisions are those of the control plane, the same on every server. Changes of one kind come in order, so one revision
is a position: `1240`. Kinds are watched separately and may be at different revisions: `1200.Note-1240.Page-1251` means
that everything up to 1200 was sent, and for these kinds everything up to their own revision.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

NOWHERE = "0"
"""A position before all history."""
_is_position = re.compile(r"\d{1,18}(\.[A-Za-z][A-Za-z0-9]*-\d{1,18})*").fullmatch


class Position(msgspec.Struct, frozen=True):
    floor: int
    kinds: dict[str, int] = {}

    def of(self, kind: str) -> int:
        return self.kinds.get(kind, self.floor)

    def __str__(self) -> str:
        return ".".join([str(self.floor), *(f"{kind}-{revision}" for kind, revision in sorted(self.kinds.items()))])


def read_position(text: str) -> Position:
    """Invalid text becomes `NOWHERE`: the client has missed something."""
    if not text.isascii() or not _is_position(text):
        return Position(0)
    floor, *named = text.split(".")
    kinds = (each.rpartition("-") for each in named)
    return Position(int(floor), {kind: int(revision) for kind, _, revision in kinds})


def position_of(reached: Mapping[str, int]) -> Position:
    """`reached` is by kind; the entry "" counts for the floor only. The position lists all kinds, so that a client that
    resumes is known to have seen them.
    """
    return Position(min(reached.values(), default=0), {kind: each for kind, each in reached.items() if kind})
