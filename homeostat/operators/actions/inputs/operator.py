"""Reconciles inputs: puts observe, decide and act together."""

from __future__ import annotations

from collections.abc import Callable, Collection

from homeostat.objects.decision import Decision
from homeostat.operators.actions.inputs.act import InputActor
from homeostat.operators.actions.inputs.api import ResourceInput
from homeostat.operators.actions.inputs.decide import FeedWorld, InputAction, InputWorld, decide_input
from homeostat.operators.actions.inputs.jobs import InputDependencies
from homeostat.operators.actions.inputs.memory import Memories
from homeostat.operators.actions.inputs.observe import InputObserver


class InputOperator:
    """`feed_of` returns the state of an input's feed."""

    def __init__(self, dependencies: InputDependencies, feed_of: Callable[[ResourceInput], FeedWorld]) -> None:
        self._memories = Memories()
        self._observer = InputObserver(dependencies, feed_of, self._memories)
        self._actor = InputActor(dependencies, self._memories)

    def forget_others(self, uids: Collection[str]) -> None:
        """Forgets all inputs but these."""
        self._memories.forget_others(uids)

    async def observe(self, obj: ResourceInput) -> InputWorld:
        return await self._observer.observe(obj)

    def decide(self, obj: ResourceInput, world: InputWorld) -> Decision[InputAction]:
        return decide_input(obj, world)

    async def act(self, obj: ResourceInput, action: InputAction) -> None:
        await self._actor.act(obj, action)
