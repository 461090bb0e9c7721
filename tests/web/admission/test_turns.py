"""What takes long is reviewed beside the event loop, and few large reviews are in memory at once: both are counted."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import msgspec
import pytest

from homeostat.edge.reply import Reply
from homeostat.edge.request import Headers, Peer, Request
from homeostat.operators.policy.engine.evaluator import Evaluator
from homeostat.operators.policy.engine.stalled import StalledPolicy
from homeostat.operators.policy.spec import PolicySpec
from homeostat.web.admission.metrics import AdmissionMetrics
from homeostat.web.admission.webhook import _LARGE_AT_ONCE, _MOST_AT_ONCE, Gate
from tests.operators.policy.worlds import container
from tests.web.reviewing import pod, review


class Counted:
    """So many policies. A review is in memory from the first question about it to the last one."""

    def __init__(self, policies: int) -> None:
        self._policies = [Evaluator(PolicySpec(forbid_latest_tag=True), name=f"p{at}") for at in range(policies)]
        self.reviews = self.most_reviews = 0

    @property
    def is_known(self) -> bool:
        return True

    def of(self, namespace: str) -> list[Evaluator]:
        self.reviews += 1
        self.most_reviews = max(self.most_reviews, self.reviews)
        return self._policies

    def stalled(self, namespace: str) -> list[StalledPolicy]:
        return []

    def knows(self, namespace: str) -> bool:
        self.reviews -= 1
        return True


async def answered(gate: Gate, body: bytes) -> Any:
    reply = gate.validate(Request("POST", "/validate", "", Headers(), body, Peer(""), {}), {})
    reply = reply if isinstance(reply, Reply) else await reply
    assert isinstance(reply.body, bytes)
    return msgspec.json.decode(reply.body)["response"]


@pytest.mark.parametrize(
    ("containers", "policies", "is_aside"),
    [(1, 3, False), (1, _MOST_AT_ONCE + 1, True), (_MOST_AT_ONCE // 4, 5, True), (_MOST_AT_ONCE // 4, 1, False)],
    ids=["usual", "many policies", "many of both", "many containers"],
)
async def test_many_containers_and_policies_are_evaluated_in_a_thread(
    containers: int, policies: int, is_aside: bool
) -> None:
    looked: set[int] = set()

    def clock() -> float:
        """It is read before each policy."""
        looked.add(threading.get_ident())
        return time.perf_counter()

    gate = Gate(Counted(policies), AdmissionMetrics(), clock=clock)
    body = review(pod(*(container("a:latest", name=f"c{at}") for at in range(containers))))
    assert not (await answered(gate, body))["allowed"]
    assert (looked != {threading.get_ident()}) is is_aside


async def test_an_update_counts_the_containers_from_before() -> None:
    looked: set[int] = set()

    def clock() -> float:
        looked.add(threading.get_ident())
        return time.perf_counter()

    half = pod(*(container("a:latest", name=f"c{at}") for at in range(_MOST_AT_ONCE // 2 + 1)))
    await answered(Gate(Counted(1), AdmissionMetrics(), clock=clock), review(half, oldObject=half))
    assert looked != {threading.get_ident()}


async def test_few_large_reviews_are_in_memory_at_once() -> None:
    policies = Counted(3)
    # Time stands still: who waits is not late.
    gate = Gate(policies, AdmissionMetrics(), clock=lambda: 0.0)
    body = review(pod(*(container("a:latest", name=f"c{at}") for at in range(2000))))
    found = await asyncio.gather(*(answered(gate, body) for _ in range(12)))
    assert {each["allowed"] for each in found} == {False}
    assert 0 < policies.most_reviews <= _LARGE_AT_ONCE
