"""Whatever is done to the work queue in whatever order, it agrees with a model that is too simple to be wrong."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from homeostat.objects.time.backoff import Backoff
from homeostat.runtime.control.queue import Priority, WorkQueue
from homeostat.testing.clock import VirtualLoop
from tests.examples import examples

KEYS = st.sampled_from("abcde")
DELAYS = st.sampled_from([0, 1, 2, 5])


class QueueAgainstModel(RuleBasedStateMachine):
    """The model: when each waiting key is due, and which keys are being worked on."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = VirtualLoop()
        self.queue = self.run(self.make())
        self.due: dict[str, float] = {}
        self.working: set[str] = set()
        self.failures: dict[str, int] = {}
        self.takers: list[asyncio.Task[str]] = []

    def teardown(self) -> None:
        for taker in self.takers:
            taker.cancel()
        self.run(asyncio.sleep(0))
        self.loop.close()

    def run(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    async def make(self) -> WorkQueue[str]:
        return WorkQueue(backoff=Backoff(first_s=1, cap_s=4, spread=0), chance=lambda: 0.0)

    async def settle(self) -> None:
        """Lets whoever was woken run; time stands still."""
        for _ in range(4):
            await asyncio.sleep(0)

    def takeable(self) -> set[str]:
        now = self.loop.time()
        return {key for key, due in self.due.items() if due <= now and key not in self.working}

    def collect(self) -> None:
        self.run(self.settle())
        for taker in [each for each in self.takers if each.done()]:
            self.takers.remove(taker)
            key = taker.result()
            assert key in self.takeable(), "a key was handed out that was not due, not added or being worked on"
            del self.due[key]
            self.working.add(key)

    def expect(self, key: str, after_s: float) -> None:
        due = self.loop.time() + after_s
        self.due[key] = min(due, self.due.get(key, due))

    @rule(key=KEYS, after_s=DELAYS, priority=st.sampled_from([None, *Priority]))
    def add(self, key: str, after_s: float, priority: Priority | None) -> None:
        self.queue.add(key, after_s=after_s, priority=priority)
        self.expect(key, after_s)
        self.collect()

    @rule()
    def take(self) -> None:
        self.takers.append(self.loop.create_task(self.queue.take()))
        self.collect()

    @precondition(lambda self: self.takers)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        taker = data.draw(st.sampled_from(self.takers))
        self.takers.remove(taker)
        taker.cancel()
        self.collect()

    @precondition(lambda self: self.takers)
    @rule(key=KEYS)
    def add_and_cancel_at_once(self, key: str) -> None:
        self.queue.add(key)
        self.expect(key, 0)
        self.takers.pop(0).cancel()
        self.collect()

    @precondition(lambda self: self.working)
    @rule(data=st.data(), is_retried=st.booleans())
    def finish(self, data: st.DataObject, is_retried: bool) -> None:
        key = data.draw(st.sampled_from(sorted(self.working)))
        if is_retried:
            self.failures[key] = self.failures.get(key, 0) + 1
            self.expect(key, self.queue.retry(key))
        else:
            self.failures.pop(key, None)
            self.queue.forget(key)
        self.queue.done(key)
        self.working.remove(key)
        self.collect()

    @rule(seconds=st.sampled_from([1, 2, 5]))
    def pass_time(self, seconds: int) -> None:
        for _ in range(seconds):
            self.run(asyncio.sleep(1))
            self.collect()

    @invariant()
    def nobody_waits_for_what_could_be_taken(self) -> None:
        assert not (self.takers and self.takeable())

    @invariant()
    def the_counts_agree(self) -> None:
        assert self.queue.depth == len(self.takeable())
        assert self.queue.delayed == len(self.due) - len(self.takeable())
        assert self.queue.working == len(self.working)
        assert {key: self.queue.failures(key) for key in self.failures} == self.failures

    @invariant()
    def the_oldest_wait_agrees(self) -> None:
        now = self.loop.time()
        assert self.queue.oldest_wait_s == now - min((self.due[key] for key in self.takeable()), default=now)


TestQueueAgainstModel = QueueAgainstModel.TestCase
TestQueueAgainstModel.settings = settings(examples(100), stateful_step_count=40)
