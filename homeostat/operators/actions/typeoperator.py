"""Keeps a definition on the server for every resource type."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from homeostat.client.base import Client
from homeostat.objects.decision import Decision
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import DEFINITION
from homeostat.operators.actions.api import RESOURCES, ResourceType
from homeostat.operators.actions.definition import InvalidTypeError
from homeostat.operators.actions.misfit import misfits
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
        self._client, self._types = client, types

    async def observe(self, obj: ResourceType) -> TypeWorld:
        kind = resource_kind(obj.spec)
        others = tuple(
            each
            for each in self._types()
            if each.metadata.name != obj.metadata.name and kind_name(each.spec.name) == kind.kind
        )
        found = await self._definition(f"{kind.plural}.{RESOURCES}")
        if found is None:
            return TypeWorld(others=others)
        try:
            wanted = wanted_definition(obj, others)
        except InvalidTypeError:
            return TypeWorld(others=others, found=found)
        if not obj.is_terminating and is_in_force(wanted, found):
            return TypeWorld(others=others, found=found)
        live = await self._resources(found)
        users = tuple(f"{each['metadata'].get('namespace', '')}/{each['metadata']['name']}" for each in live)
        unfit = () if obj.is_terminating else tuple(misfits(wanted, live, version=kind.version))
        return TypeWorld(others=others, found=found, users=users, misfits=unfit)

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

    async def _definition(self, name: str) -> JsonObject | None:
        try:
            return await self._client.get(DEFINITION.path("", name))
        except NotFoundError:
            return None

    async def _resources(self, definition: JsonObject) -> list[JsonObject]:
        spec = definition["spec"]
        version = next((each["name"] for each in spec["versions"] if each.get("storage")), "")
        try:
            items, _ = await self._client.list(f"/apis/{spec['group']}/{version}/{spec['names']['plural']}")
        except NotFoundError:
            # The definition is there and not served yet: it has no resources either.
            return []
        return items
