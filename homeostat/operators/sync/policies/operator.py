"""The operator of SyncPolicies: observe, decide and act put together."""

from __future__ import annotations

from homeostat.objects.decision import Decision, Receipt
from homeostat.operators.sync.api.policy import SyncPolicy
from homeostat.operators.sync.conditions import observed
from homeostat.operators.sync.policies.act import Actor
from homeostat.operators.sync.policies.decide import decide
from homeostat.operators.sync.policies.observe import Observer
from homeostat.operators.sync.policies.world import Action, World


class PolicyOperator:
    def __init__(self, observer: Observer, actor: Actor) -> None:
        self._observer, self._actor = observer, actor

    async def observe(self, obj: SyncPolicy) -> World:
        return await self._observer.observe(obj)

    def decide(self, obj: SyncPolicy, world: World) -> Decision[Action]:
        return observed(decide(obj, world), obj)

    async def act(self, obj: SyncPolicy, action: Action) -> Receipt | None:
        return await self._actor.act(obj, action)
