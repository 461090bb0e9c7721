"""Reconciles the resources of one type: puts observe, decide and act together."""

from __future__ import annotations

from collections.abc import Callable

from homeostat.objects.decision import Decision, Receipt
from homeostat.operators.actions.act import Actor
from homeostat.operators.actions.api import Resource, ResourceTypeSpec
from homeostat.operators.actions.decide import decide
from homeostat.operators.actions.dependencies import Dependencies
from homeostat.operators.actions.observe import Observer
from homeostat.operators.actions.runs.assignment import Assignments
from homeostat.operators.actions.runs.conclusion import Action
from homeostat.operators.actions.world import Fault, Plan, World


class ResourceOperator:
    """`type_of` returns the current type of a resource."""

    def __init__(self, type_of: Callable[[Resource], ResourceTypeSpec], dependencies: Dependencies) -> None:
        assignments = Assignments(type_of, dependencies)
        self._observer, self._actor = (
            Observer(type_of, dependencies, assignments),
            Actor(type_of, dependencies, assignments),
        )

    async def observe(self, obj: Resource) -> World:
        return await self._observer.observe(obj)

    def decide(self, obj: Resource, world: World) -> Decision[Action]:
        return decide(obj, world)

    async def act(self, obj: Resource, action: Action) -> Receipt | None:
        return await self._actor.act(obj, action)

    async def plan(self, obj: Resource) -> Plan | Fault:
        """Returns what applying the declared resource would change, whatever its current run is. Changes nothing."""
        return await self._observer.plan(obj)
