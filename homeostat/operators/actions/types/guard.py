"""What is refused of a resource type before it is written, where a server asks: see `runtime/guard.py`.

A type in use is not deleted, nor a version whose resources do not fit those that stay; a schema that live resources do
not fit is not taken, unless the type says so; a type that can be no definition, or that is there already under another
name, is not taken either. `typedecide.py` says the same of types that got in all the same: between the question and the
write a resource may have come.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from homeostat.client.base import Client
from homeostat.client.projection import Projection
from homeostat.objects.errors import ConflictError, forbidden, invalid_object
from homeostat.objects.json import JsonObject
from homeostat.operators.actions.api import RESOURCE_TYPE, ResourceType
from homeostat.operators.actions.types.decide import (
    MOST_TOLD,
    is_in_force,
    left_definition,
    same_version,
    told_in_use,
    told_misfits,
    wanted_definition,
)
from homeostat.operators.actions.types.definition import InvalidTypeError
from homeostat.operators.actions.types.naming import kind_name, resource_kind
from homeostat.operators.actions.types.resources import Live

_KIND = RESOURCE_TYPE.kind


class TypeGuard:
    def __init__(self, client: Client) -> None:
        self._live = Live(client)
        self._types = Projection(client, _KIND, ResourceType)

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
            wanted = wanted_definition(declared, others)
        except InvalidTypeError as error:
            raise invalid_object(_KIND.kind, _KIND.group, name, error.causes) from error
        found = await self._live.definition(declared.spec)
        if found is None or declared.spec.is_forced or is_in_force(wanted, found):
            return
        if unfit := await self._live.misfits(wanted, found, version=resource_kind(declared.spec).version):
            cause = forbidden("spec.schema", told_misfits([str(each) for each in unfit[:MOST_TOLD]], len(unfit)))
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
        left = left_definition(declared, others, found)
        told = await (self._told_in_use(found) if left is None else self._told_unfit(declared, left, found))
        if told:
            raise _conflict(declared.metadata.name, told)

    async def _told_in_use(self, found: JsonObject) -> str:
        page = await self._live.first(found, MOST_TOLD)
        return f"{told_in_use(page.names, page.total)}; delete them first" if page.items else ""

    async def _told_unfit(self, declared: ResourceType, left: JsonObject, found: JsonObject) -> str:
        """Which resources do not fit the versions that stay."""
        if declared.spec.is_forced or is_in_force(left, found):
            return ""
        unfit = await self._live.misfits(left, found)
        return told_misfits([str(each) for each in unfit[:MOST_TOLD]], len(unfit)) if unfit else ""

    async def _others(self, declared: ResourceType) -> Sequence[ResourceType]:
        kind = kind_name(declared.spec.name)
        return [
            each
            async for each in self._types.list()
            if each.metadata.name != declared.metadata.name and kind_name(each.spec.name) == kind
        ]


def _read(obj: JsonObject) -> ResourceType:
    return msgspec.convert({"metadata": obj["metadata"], "spec": obj["spec"]}, ResourceType)


def _conflict(name: str, why: str) -> ConflictError:
    told = f'Operation cannot be fulfilled on {_KIND.plural}.{_KIND.group} "{name}": {why}'
    return ConflictError(told, kind=_KIND.plural, group=_KIND.group, name=name)
