"""Keeps a definition on the server for every resource type."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import monotonic

from homeostat.client.base import Client
from homeostat.objects.decision import Decision
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import DEFINITION
from homeostat.operators.actions.api import ResourceType
from homeostat.operators.actions.types.decide import (
    Migrate,
    PutDefinition,
    RemoveDefinition,
    TypeAction,
    TypeWorld,
    decide_type,
    is_in_force,
    left_definition,
    wanted_definition,
)
from homeostat.operators.actions.types.definition import InvalidTypeError
from homeostat.operators.actions.types.migration import migrate
from homeostat.operators.actions.types.naming import kind_name, resource_kind
from homeostat.operators.actions.types.resources import Live

_MANAGER = "homeostat-actions"
SETTLE_S = 5.0
"""How long replicas of a server may take to store in the version that a definition says."""


class TypeOperator:
    """`types` gives all resource types that there are."""

    def __init__(
        self, client: Client, types: Callable[[], Iterable[ResourceType]], *, settle_s: float = SETTLE_S
    ) -> None:
        self._client, self._types, self._live = client, types, Live(client)
        self._settle_s = settle_s
        self._since: dict[str, tuple[str, float]] = {}

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
            return await self._observe_leave(obj, others, found)
        try:
            wanted = wanted_definition(obj, others, found)
        except InvalidTypeError:
            return TypeWorld(others=others, found=found)
        if is_in_force(wanted, found):
            return TypeWorld(others=others, found=found)
        unfit = await self._live.misfits(wanted, found, version=kind.version)
        return TypeWorld(others=others, found=found, misfits=tuple(unfit))

    async def _observe_leave(self, obj: ResourceType, others: tuple[ResourceType, ...], found: JsonObject) -> TypeWorld:
        left = left_definition(obj, others, found)
        if left is None:
            users = [name async for page in self._live.pages(found) for name in page.names]
            return TypeWorld(others=others, found=found, users=tuple(users))
        if is_in_force(left, found):
            self._since.pop(obj.metadata.uid, None)
            return TypeWorld(others=others, found=found)
        unfit = await self._live.misfits(left, found)
        return TypeWorld(others=others, found=found, misfits=tuple(unfit), is_settled=self._is_settled(obj, found))

    def _is_settled(self, obj: ResourceType, found: JsonObject) -> bool:
        """By the time since this process saw it first: no clock of another machine is believed."""
        form, now = f"{found['metadata'].get('uid')}/{found['metadata'].get('generation')}", monotonic()
        seen = self._since.get(obj.metadata.uid)
        if seen is None or seen[0] != form:
            self._since[obj.metadata.uid] = seen = (form, now)
        return now - seen[1] >= self._settle_s

    def decide(self, obj: ResourceType, world: TypeWorld) -> Decision[TypeAction]:
        return decide_type(obj, world)

    async def act(self, obj: ResourceType, action: TypeAction) -> None:
        match action:
            case PutDefinition(definition):
                path = DEFINITION.path("", definition["metadata"]["name"])
                await self._client.apply(path, definition, manager=_MANAGER, force=True)
            case Migrate(definition):
                await migrate(self._client, definition)
            case RemoveDefinition(name):
                try:
                    await self._client.delete(DEFINITION.path("", name))
                except NotFoundError:
                    return
