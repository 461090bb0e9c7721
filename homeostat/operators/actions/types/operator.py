"""Keeps a definition on the server for every resource type: its three parts put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from homeostat.client.base import Client
from homeostat.objects.decision import Decision
from homeostat.operators.actions.api import ResourceType
from homeostat.operators.actions.types.act import act_on_type
from homeostat.operators.actions.types.decide import TypeAction, TypeWorld, decide_type
from homeostat.operators.actions.types.observe import TypeObserver

SETTLE_S = 5.0
"""How long replicas of a server may take to store in the version that a definition says."""


class TypeOperator:
    """`types` gives all resource types that there are."""

    def __init__(
        self, client: Client, types: Callable[[], Iterable[ResourceType]], *, settle_s: float = SETTLE_S
    ) -> None:
        self._client, self._observer = client, TypeObserver(client, types, settle_s=settle_s)

    async def observe(self, obj: ResourceType) -> TypeWorld:
        return await self._observer.observe(obj)

    def decide(self, obj: ResourceType, world: TypeWorld) -> Decision[TypeAction]:
        return decide_type(obj, world)

    async def act(self, obj: ResourceType, action: TypeAction) -> None:
        await act_on_type(self._client, action)
