"""The pool of probes: what it sends when, and whom it enqueues."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from homeostat.operators.contracts.engine.checks.endpoint import Outcome
from homeostat.operators.contracts.probes.prober import AT_ONCE_PER_HOST, Owner, Prober
from homeostat.runtime.background import background
from homeostat.testing.eventually import eventually

_OWNER: Owner = ("port", "quay")
_URL = "http://quay.port.svc:8080/healthz"
_GOOD = Outcome(status_code=200, has_body=True, latency_ms=5)


class Stage:
    """Endpoints whose answers the test sets, and a clock that it moves."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.answer = _GOOD
        self.sent: list[str] = []
        self.enqueued: list[Owner] = []
        self.at_once = self.most_at_once = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.prober = Prober(self._send, self.enqueued.append, lambda: self.now)

    async def _send(self, url: str) -> Outcome:
        self.sent.append(url)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await self.gate.wait()
        await asyncio.sleep(0)
        self.at_once -= 1
        return self.answer

    def ask(self, generation: int = 1, *urls: str) -> dict[str, Outcome]:
        return self.prober.outcomes(_OWNER, generation, urls or (_URL,), max_age_s=300.0)

    async def settles(self, count: int) -> None:
        await eventually(lambda: (len(self.sent), self.at_once), lambda seen: seen == (count, 0))
        await asyncio.sleep(0.01)


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    stage = Stage()
    async with background(stage.prober.run()):
        yield stage


async def test_the_first_pass_is_pending_and_the_result_enqueues_its_owner(stage: Stage) -> None:
    assert stage.ask() == {}
    await stage.settles(1)
    assert stage.enqueued == [_OWNER]
    assert stage.ask() == {_URL: _GOOD}
    await asyncio.sleep(0.02)
    assert stage.sent == [_URL]


async def test_a_result_is_used_until_it_expires_and_while_it_is_renewed(stage: Stage) -> None:
    stage.ask()
    await stage.settles(1)
    stage.now += 200
    assert stage.ask() == {_URL: _GOOD}
    due_in_s = stage.prober.due_in_s(_OWNER, 300.0)
    assert due_in_s is not None
    assert 60 < due_in_s < 100
    stage.now += 100
    stage.gate.clear()
    assert stage.ask() == stage.ask() == {_URL: _GOOD}
    stage.gate.set()
    await stage.settles(2)


async def test_only_a_verdict_that_changes_enqueues(stage: Stage) -> None:
    stage.ask()
    await stage.settles(1)
    for number, (answer, enqueued) in enumerate(
        [
            (Outcome(status_code=200, has_body=True, latency_ms=900), 1),
            (Outcome(error="refused", latency_ms=1), 2),
            (Outcome(error="timed out", latency_ms=5000), 2),
            (_GOOD, 3),
        ],
        2,
    ):
        stage.answer = answer
        stage.now += 400
        stage.ask()
        await stage.settles(number)
        assert len(stage.enqueued) == enqueued, answer


async def test_an_endpoint_that_fails_is_probed_again_sooner_and_less_often_each_time(stage: Stage) -> None:
    stage.answer = Outcome(error="refused")
    waits = []
    for number in range(1, 6):
        stage.ask()
        await stage.settles(number)
        due_in_s = stage.prober.due_in_s(_OWNER, 300.0)
        assert due_in_s is not None
        waits.append(round(due_in_s))
        stage.now += due_in_s
    assert waits == [30, 60, 120, 240, 270]


async def test_a_result_of_an_older_generation_is_dropped(stage: Stage) -> None:
    stage.gate.clear()
    stage.ask(1)
    await eventually(lambda: stage.at_once == 1)
    assert stage.ask(2) == {}
    stage.gate.set()
    await stage.settles(2)
    assert stage.enqueued == [_OWNER]
    assert stage.ask(2) == {_URL: _GOOD}


async def test_one_host_gets_few_requests_at_a_time_and_one_for_all_owners_of_an_endpoint(stage: Stage) -> None:
    stage.gate.clear()
    for number in range(50):
        urls = [f"{_URL}/{number % 10}"]
        stage.prober.outcomes(("port", f"quay-{number}"), 1, urls, max_age_s=300.0)
    await eventually(lambda: stage.at_once > 0)
    await asyncio.sleep(0.02)
    stage.gate.set()
    await eventually(lambda: len(stage.enqueued) == 50)
    assert stage.most_at_once == AT_ONCE_PER_HOST
    assert len(stage.sent) == 10


async def test_a_host_that_stalls_does_not_delay_others(stage: Stage) -> None:
    stage.gate.clear()
    for number in range(10):
        stage.prober.outcomes(("slow", f"quay-{number}"), 1, [f"http://slow.port.svc/{number}"], max_age_s=300.0)
    await eventually(lambda: stage.at_once == AT_ONCE_PER_HOST)
    stage.ask()
    await eventually(lambda: _URL in stage.sent)


async def test_an_endpoint_that_is_not_asked_for_any_more_is_forgotten(stage: Stage) -> None:
    stage.ask()
    await stage.settles(1)
    stage.prober.outcomes(_OWNER, 1, (), max_age_s=300.0)
    assert stage.prober.due_in_s(_OWNER, 300.0) is None
    assert stage.ask() == {}


async def test_a_stored_result_counts_until_the_first_answer(stage: Stage) -> None:
    stored = Outcome(error="timed out after 5 s")
    held = stage.prober.outcomes(_OWNER, 1, (_URL,), max_age_s=300.0, before={_URL: stored})
    assert held == {_URL: stored}
    await stage.settles(1)
    assert stage.enqueued == [_OWNER]
    assert stage.ask() == {_URL: _GOOD}
