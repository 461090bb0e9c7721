"""Finds the newer of two copies of a Terraform state. Pure.

A state has a lineage, which is its identity, and a serial, which grows with every change. While Terraform runs, the
copy in its directory is newer than the saved one: after a crash it describes what was created and not saved yet.
"""

from __future__ import annotations

import msgspec


class Stamp(msgspec.Struct, frozen=True):
    lineage: str = ""
    serial: int = -1


def stamp_of(state: bytes) -> Stamp | None:
    """None if the bytes are not a state."""
    try:
        found = msgspec.json.decode(state, type=Stamp)
    except msgspec.DecodeError:
        return None
    return found if found.serial >= 0 else None


def newer_state(kept: bytes, here: bytes) -> bytes:
    """Returns the saved copy, unless the local one is newer and of the same lineage, or the only one."""
    ours, theirs = stamp_of(here), stamp_of(kept)
    if ours is None:
        return kept
    if theirs is None:
        return here
    return here if ours.lineage == theirs.lineage and ours.serial > theirs.serial else kept
