"""Refuses writes of resource types that would break resources, on servers that ask beforehand (`runtime/guard.py`).

It refuses to delete a type in use, or a version whose resources do not match the remaining versions; a schema that live
resources do not match, unless `isForced`; a type that cannot become a definition; and a second type of the same name
and version. `decide.py` handles such types too: a resource may be created between the check and the write.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import msgspec

from homeostat.client.base import Client
from homeostat.client.projection import Projection
from homeostat.edge.threads import in_thread
from homeostat.objects.declared import Declared
from homeostat.objects.errors import ConflictError, NotFoundError, forbidden, invalid_object
from homeostat.objects.json import JsonObject
from homeostat.operators.actions.api import RESOURCE_TYPE, ResourceType
from homeostat.operators.actions.types.decide import (
    MOST_NAMED,
    in_use_message,
    incompatible_message,
    is_in_force,
    remaining_definition,
    same_version,
    wanted_definition,
)
from homeostat.operators.actions.types.definition import InvalidTypeError
from homeostat.operators.actions.types.naming import kind_name, kind_of_type, resource_kind
from homeostat.operators.actions.types.resources import Live

_KIND = RESOURCE_TYPE.kind
_USER: Final = "resource types"
"""Whose turn it is in the threads: a schema may be so large that Python takes a second to walk it."""
_PAGE: Final = 5
"""Types that are decoded in one step; each may have megabytes."""


class _NamedSpec(msgspec.Struct, frozen=True):
    name: str
    kind: str = ""


class _NamedType(Declared, frozen=True, kw_only=True):
    """A type without its schema."""

    spec: _NamedSpec


class TypeGuard:
    def __init__(self, client: Client) -> None:
        self._live = Live(client)
        self._types = Projection(client, _KIND, ResourceType)
        self._names = Projection(client, _KIND, _NamedType)

    async def check(self, _: str, old: JsonObject | None, new: JsonObject | None) -> None:
        if new is not None:
            if old is None or old["spec"] != new["spec"]:
                await self._check_declared(_read(new), is_new=old is None)
        elif old is not None:
            await self._check_removal(_read(old))

    async def _check_declared(self, declared: ResourceType, *, is_new: bool) -> None:
        name = declared.metadata.name
        others = await self._others(declared)
        if is_new and (same := same_version(declared, others)):
            raise _conflict(name, f'the resource type "{same[0].metadata.name}" has the same name and version')
        try:
            wanted = await in_thread(lambda: wanted_definition(declared, others), user=_USER)
        except InvalidTypeError as error:
            raise invalid_object(_KIND.kind, _KIND.group, name, error.causes) from error
        found = await self._live.definition(declared.spec)
        if found is None or declared.spec.is_forced or await _is_in_force(wanted, found):
            return
        if incompatible := await self._live.incompatible(wanted, found, version=resource_kind(declared.spec).version):
            cause = forbidden(
                "spec.schema",
                incompatible_message([str(each) for each in incompatible[:MOST_NAMED]], len(incompatible)),
            )
            raise invalid_object(_KIND.kind, _KIND.group, name, [cause])

    async def _check_removal(self, declared: ResourceType) -> None:
        if declared.is_terminating:
            return
        found = await self._live.definition(declared.spec)
        if found is None:
            return
        others = await self._others(declared)
        if same_version(declared, others):
            return
        left = await in_thread(lambda: remaining_definition(declared, others, found), user=_USER)
        message = await (self._in_use(found) if left is None else self._incompatible(declared, left, found))
        if message:
            raise _conflict(declared.metadata.name, message)

    async def _in_use(self, found: JsonObject) -> str:
        page = await self._live.first(found, MOST_NAMED)
        return f"{in_use_message(page.names, page.total)}; delete them first" if page.items else ""

    async def _incompatible(self, declared: ResourceType, left: JsonObject, found: JsonObject) -> str:
        """Says which resources do not match the remaining versions; empty if all do."""
        if declared.spec.is_forced or await _is_in_force(left, found):
            return ""
        incompatible = await self._live.incompatible(left, found)
        return (
            incompatible_message([str(each) for each in incompatible[:MOST_NAMED]], len(incompatible))
            if incompatible
            else ""
        )

    async def _others(self, declared: ResourceType) -> Sequence[ResourceType]:
        kind, own = kind_of_type(declared.spec), declared.metadata.name
        names = [
            each.metadata.name
            async for each in self._names.list(limit=_PAGE)
            if each.metadata.name != own and (each.spec.kind or kind_name(each.spec.name)) == kind
        ]
        found = []
        for name in names:
            with suppress(NotFoundError):
                found.append(await self._types.get(name))
        return found


async def _is_in_force(wanted: JsonObject, found: JsonObject) -> bool:
    return await in_thread(lambda: is_in_force(wanted, found), user=_USER)


def _read(obj: JsonObject) -> ResourceType:
    return msgspec.convert({"metadata": obj["metadata"], "spec": obj["spec"]}, ResourceType)


def _conflict(name: str, why: str) -> ConflictError:
    message = f'Operation cannot be fulfilled on {_KIND.plural}.{_KIND.group} "{name}": {why}'
    return ConflictError(message, kind=_KIND.plural, group=_KIND.group, name=name)
