"""What a role allows. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from homeostat.web.identity.api import ANY, Permission


def allows(permissions: Iterable[Permission], type_name: str, type_version: str, operation: str) -> bool:
    """Whether one of the permissions matches the type, the version and the operation."""
    return any(
        operation in each.operations and each.type in (ANY, type_name) and each.version in (ANY, type_version)
        for each in permissions
    )


def numbered(permissions: Iterable[Permission]) -> tuple[Permission, ...]:
    """Each with a unique number within the role: one without a number, or with a duplicate, gets the next free one."""
    given, seen = list(permissions), set[int]()
    highest = max((each.id for each in given), default=0)
    for at, each in enumerate(given):
        if not each.id or each.id in seen:
            highest += 1
            given[at] = Permission(id=highest, type=each.type, version=each.version, operations=each.operations)
        seen.add(given[at].id)
    return tuple(given)
