"""Keeps a definition on the server for every resource type."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from homeostat.client.base import Client
from homeostat.objects.decision import Decision
from homeostat.objects.errors import NotFoundError
from homeostat.objects.kind import DEFINITION
from homeostat.operators.actions.api import ResourceType
from homeostat.operators.actions.definition import InvalidTypeError
from homeostat.operators.actions.live import Live
from homeostat.operators.actions.naming import kind_name, resource_kind
from homeostat.operators.actions.typedecide import (
    PutDefinition,
    RemoveDefinition,
    TypeAction,
    TypeWorld,
    decide_type,
    is_in_force,
    wanted_definition,
)

_MANAGER = "homeostat-actions"


class TypeOperator:
    """`types` gives all resource types that there are."""

    def __init__(self, client: Client, types: Callable[[], Iterable[ResourceType]]) -> None:
        self._client, self._types, self._live = client, types, Live(client)

    async def observe(self, obj: ResourceType) -> TypeWorld:
        kind = resource_kind(obj.spec)
        others = tuple(
            each
            for each in self._types()
            if each.metadata.name != obj.metadata.name and kind_name(each.spec.name) == kind.kind
        )
        found = await self._live.definition(obj.spec)
        if found is None:
            return TypeWorld(others=others)
        if obj.is_terminating:
            users = [name async for page in self._live.pages(found) for name in page.names]
            return TypeWorld(others=others, found=found, users=tuple(users))
        try:
            wanted = wanted_definition(obj, others)
        except InvalidTypeError:
            return TypeWorld(others=others, found=found)
        if is_in_force(wanted, found):
            return TypeWorld(others=others, found=found)
        unfit = await self._live.misfits(obj.spec, wanted, found)
        return TypeWorld(others=others, found=found, misfits=tuple(unfit))

    def decide(self, obj: ResourceType, world: TypeWorld) -> Decision[TypeAction]:
        return decide_type(obj, world)

    async def act(self, obj: ResourceType, action: TypeAction) -> None:
        match action:
            case PutDefinition(definition):
                path = DEFINITION.path("", definition["metadata"]["name"])
                await self._client.apply(path, definition, manager=_MANAGER, force=True)
            case RemoveDefinition(name):
                try:
                    await self._client.delete(DEFINITION.path("", name))
                except NotFoundError:
                    return
