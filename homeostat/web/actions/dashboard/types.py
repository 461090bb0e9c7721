"""The resource types that a caller sees, their titles, and how many resources of them are in each phase."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from homeostat.web.actions.dashboard.phase_counts import PhaseCounts
from homeostat.web.actions.face import Face
from homeostat.web.actions.index.entry import TypeEntry
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.gate import Caller


class ReadableCounts(NamedTuple):
    types: list[TypeEntry]
    by_type: dict[str, Counter[str]]
    """By the uid of a type; types without resources are absent."""
    total: Counter[str]


async def readable_types(face: Face, caller: Caller) -> list[TypeEntry]:
    """The types whose resources the caller may read, ordered by name and version."""
    types = face.index.types()
    if caller.is_admin:
        return types
    return [each for each in types if await caller.may(each.spec.name, each.spec.version, "READ")]


def type_title(resource_type: TypeEntry) -> str:
    return f"{resource_type.spec.name}/{resource_type.spec.version}"


async def count_readable(visit: Visit, face: Face, counts: PhaseCounts) -> ReadableCounts | None:
    """The resources that the caller may read, by type and phase; None on a page about another namespace."""
    if visit.namespace not in ("", face.namespace):
        return None
    types = await readable_types(face, visit.caller)
    uids = {each.metadata.uid for each in types}
    await counts.complete()
    by_type = {uid: each for uid, each in counts.of_types().items() if uid in uids}
    return ReadableCounts(types, by_type, sum(by_type.values(), Counter[str]()))
