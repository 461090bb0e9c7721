"""Decides about an object whose owners were checked. Pure.

The rules are those of Kubernetes: an object with a remaining owner loses its references to the others; an object whose
owners are all deleted, or wait for its deletion, is deleted.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from homeostat.operators.housekeeping.garbage.graph import FOREGROUND_FINALIZER, ORPHAN_FINALIZER, Phase, Ref, Standing
from homeostat.operators.housekeeping.metadata.metadata import Policy


class Keep(msgspec.Struct, frozen=True):
    """There is nothing to do."""


class Release(msgspec.Struct, frozen=True):
    """Remove the references to these owners."""

    owners: frozenset[str]


class Delete(msgspec.Struct, frozen=True):
    policy: Policy
    unblock: bool = False
    """First stop blocking the owners: the dependents form a cycle in which each would wait for another."""


Verdict = Keep | Release | Delete


def decide(
    standings: Mapping[Ref, Standing], *, finalizers: tuple[str, ...], dependents: Mapping[str, Phase]
) -> Verdict:
    """The verdict on an object that is not terminating. An owner whose standing is `UNKNOWN` counts as existing."""
    by_standing: dict[Standing, set[str]] = {each: set() for each in Standing}
    for ref, standing in standings.items():
        by_standing[standing].add(ref.uid)
    waiting = by_standing[Standing.WAITING]
    useless = by_standing[Standing.DANGLING] | waiting
    if not useless:
        return Keep()
    if by_standing[Standing.SOLID] or by_standing[Standing.UNKNOWN]:
        return Release(frozenset(useless))
    if waiting and dependents:
        return Delete("Foreground", unblock=Phase.FOREGROUND in dependents.values())
    if ORPHAN_FINALIZER in finalizers:
        return Delete("Orphan")
    return Delete("Foreground" if FOREGROUND_FINALIZER in finalizers else "Background")
