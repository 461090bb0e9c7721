from __future__ import annotations

from datetime import timedelta
from typing import TypeVar

import msgspec

from homeostat.objects.conditions import Condition
from homeostat.objects.decision import Decision, Receipt
from homeostat.runtime.control.operator import Operator, Request

Obj = TypeVar("Obj")
World = TypeVar("World")
Action = TypeVar("Action")


class Scale(msgspec.Struct, frozen=True):
    wanted: int


class Counter:
    """The smallest operator: makes a number equal to the one declared, by one at a time."""

    def __init__(self) -> None:
        self.running = 0

    async def observe(self, obj: Scale) -> int:
        return self.running

    def decide(self, obj: Scale, world: int) -> Decision[str]:
        if world == obj.wanted:
            return Decision(conditions=(Condition("Ready", "True", "Scaled"),), requeue_after=timedelta(minutes=5))
        action = "start" if world < obj.wanted else "stop"
        return Decision((action,), (Condition("Ready", "False", "Scaling", f"{world} of {obj.wanted}"),))

    async def act(self, obj: Scale, action: str) -> Receipt | None:
        self.running += 1 if action == "start" else -1
        return Receipt({"running": self.running})


async def settle(operator: Operator[Obj, World, Action], obj: Obj) -> Decision[Action]:
    while True:
        decision = operator.decide(obj, await operator.observe(obj))
        if decision.is_settled:
            return decision
        for action in decision.actions:
            await operator.act(obj, action)


async def test_observing_deciding_and_acting_ends_where_nothing_is_left_to_do() -> None:
    counter = Counter()
    decision = await settle(counter, Scale(3))
    assert counter.running == 3
    assert decision.conditions[0].reason == "Scaled"


def test_a_request_is_a_name_and_prints_as_one() -> None:
    assert str(Request("Deployment.apps", "shop", "web")) == "Deployment.apps shop/web"
    assert str(Request("Namespace", "", "shop")) == "Namespace shop"
    assert Request("Pod", "shop", "web") == Request("Pod", "shop", "web")
