"""Reconciles resource types: puts observe, decide and act together."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from homeostat.client.base import Client
from homeostat.objects.decision import Decision
from homeostat.operators.actions.api import ResourceType
from homeostat.operators.actions.types.act import act_on_type
from homeostat.operators.actions.types.decide import TypeAction, TypeWorld, decide_type
from homeostat.operators.actions.types.observe import TypeObserver

SETTLE_S = 5.0
"""How long replicas of a server may take to use a new storage version."""


class TypeOperator:
    """`types` returns all resource types."""

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
