"""The resource types that a caller sees, and their titles."""

from __future__ import annotations

from homeostat.web.actions.face import Face
from homeostat.web.actions.index.entry import TypeEntry
from homeostat.web.kit.gate import Caller


async def readable_types(face: Face, caller: Caller) -> list[TypeEntry]:
    """The types whose resources the caller may read, ordered by name and version."""
    types = face.index.types()
    if caller.is_admin:
        return types
    return [each for each in types if await caller.may(each.spec.name, each.spec.version, "READ")]


def type_title(resource_type: TypeEntry) -> str:
    return f"{resource_type.spec.name}/{resource_type.spec.version}"
