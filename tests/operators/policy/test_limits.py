"""Whoever may declare a policy cannot hold up those who evaluate it."""

from __future__ import annotations

import asyncio
import time

import pytest

from homeostat.objects.errors import InvalidError
from homeostat.objects.json import JsonObject
from homeostat.objects.views.pod import Pod, PodMetadata
from homeostat.operators.policy.compiling import compile_off_loop
from homeostat.operators.policy.engine.evaluator import Evaluator, compile_policy
from homeostat.operators.policy.live.evaluation import evaluate_body
from homeostat.operators.policy.spec import PolicySpec, Rule
from tests.cluster.fixtures import Api
from tests.operators.policy.live import operating

LONG = "object.kind == 'Pod'" + " && true" * 480


async def test_others_run_while_a_large_policy_is_compiled() -> None:
    spec = PolicySpec(rules=tuple(Rule(name=f"r{at}", expression=LONG) for at in range(16)))
    turns, is_over = 0, False

    async def count() -> None:
        nonlocal turns
        while not is_over:
            turns += 1
            await asyncio.sleep(0.001)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(count())
        compiled = await compile_off_loop(spec)
        is_over = True
    assert isinstance(compiled, Evaluator)
    # On the event loop it would be one. A busy machine gives the loop few turns, but more than that.
    assert turns > 2


def test_rules_that_would_take_long_to_compile_are_invalid() -> None:
    spec = PolicySpec(rules=tuple(Rule(name=f"r{at}", expression=LONG) for at in range(17)))
    compiled = compile_policy(spec)
    assert str(compiled) == "spec.rules: all expressions have 65620 characters; at most 65536 are allowed"


MANY: list[JsonObject] = [
    {"allowedRegistries": ["a"] * 501},
    {"exemptions": [{"reason": "r", "names": ["a"] * 101}]},
    {"selector": {"matchExpressions": [{"key": "a", "operator": "Exists"}] * 21}},
    {"selector": {"matchLabels": {f"k{at}": "v" for at in range(21)}}},
]


@pytest.mark.parametrize("spec", MANY, ids=[str(each)[:20] for each in MANY])
async def test_a_server_limits_how_much_a_policy_says(plane: Api, spec: JsonObject) -> None:
    async with operating(plane) as live:
        with pytest.raises(InvalidError, match="at most"):
            await live.declare(spec)


async def test_a_rule_that_costs_much_does_not_hold_up_the_event_loop() -> None:
    dear = "lists.range(150).all(i, lists.range(150).all(j, i + j >= 0))"
    evaluator = Evaluator(PolicySpec(rules=(Rule(name="dear", expression=dear),)))
    pod = Pod(metadata=PodMetadata(name="a", namespace="web"))
    body: JsonObject = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "web"}}
    began = time.thread_time()
    result = await evaluate_body(pod, evaluator, 0.0, body)
    assert time.thread_time() - began < 0.05
    assert result.findings == evaluator.evaluate(pod, now=0.0, body=body).findings == ()
