"""Terraform's state as bytes, and which of two copies of it is the newer one. Pure.

A state has a lineage, which is its identity, and a serial, which grows with every change. While Terraform works, the
copy in its directory is ahead of the one that is kept: after a crash it holds what was made and not kept yet.
"""

from __future__ import annotations

import msgspec


class Stamp(msgspec.Struct, frozen=True):
    lineage: str = ""
    serial: int = -1


def stamp_of(state: bytes) -> Stamp | None:
    """None for what is no state."""
    try:
        found = msgspec.json.decode(state, type=Stamp)
    except msgspec.DecodeError:
        return None
    return found if found.serial >= 0 else None


def newer_state(kept: bytes, here: bytes) -> bytes:
    """What is kept counts, unless the copy here is a later one of the same state, or the only one."""
    ours, theirs = stamp_of(here), stamp_of(kept)
    if ours is None:
        return kept
    if theirs is None:
        return here
    return here if ours.lineage == theirs.lineage and ours.serial > theirs.serial else kept
