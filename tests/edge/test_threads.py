"""Expensive work takes turns between users."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable

import pytest

from homeostat.edge import threads as edge_threads
from homeostat.edge.threads import FairThreads, give_way, in_thread


class Bench:
    """Work that waits until it may go on; notes the order in which it started."""

    def __init__(self, most: int = 2) -> None:
        self.threads = FairThreads("test", most)
        self.started: list[str] = []
        self._has_started = threading.Condition()

    def put(self, user: str, name: str, gate: threading.Event | None = None) -> None:
        self.threads.submit(user, self._work(name, gate))

    def _work(self, name: str, gate: threading.Event | None) -> Callable[[], None]:
        def work() -> None:
            with self._has_started:
                self.started.append(name)
                self._has_started.notify_all()
            if gate is not None:
                gate.wait(30)

        return work

    def wait_for(self, count: int) -> None:
        with self._has_started:
            assert self._has_started.wait_for(lambda: len(self.started) >= count, 30)


def test_long_work_of_one_user_does_not_hold_up_another() -> None:
    bench, gate = Bench(), threading.Event()
    for at in range(5):
        bench.put("loud", f"loud {at}", gate)
    bench.wait_for(1)
    bench.put("quiet", "quiet")
    bench.wait_for(2)
    assert bench.started == ["loud 0", "quiet"]
    gate.set()
    bench.wait_for(6)


def test_users_take_turns() -> None:
    bench, gate = Bench(most=1), threading.Event()
    bench.put("first", "first 0", gate)
    bench.wait_for(1)
    for at in (1, 2):
        bench.put("first", f"first {at}")
    for at in (0, 1):
        bench.put("second", f"second {at}")
    bench.put("third", "third 0")
    gate.set()
    bench.wait_for(6)
    assert bench.started[:4] == ["first 0", "second 0", "third 0", "first 1"]
    assert sorted(bench.started[4:]) == ["first 2", "second 1"]


def test_the_work_of_one_user_runs_in_order() -> None:
    bench = Bench()
    for at in range(50):
        bench.put("one", str(at))
    bench.wait_for(50)
    assert bench.started == [str(at) for at in range(50)]


def test_the_threads_know_themselves() -> None:
    threads, answers, is_done = FairThreads("test"), [], threading.Event()

    def work() -> None:
        answers.append(threads.is_current())
        is_done.set()

    assert not threads.is_current()
    threads.submit("one", work)
    assert is_done.wait(30)
    assert answers == [True]
    assert not threads.is_current()


def test_the_interpreter_lock_is_handed_over_sooner_while_they_work() -> None:
    usual, seen, is_done = sys.getswitchinterval(), list[float](), threading.Event()
    bench = FairThreads("test")
    bench.submit("one", lambda: seen.append(sys.getswitchinterval()))
    bench.submit("one", is_done.set)
    assert is_done.wait(30)
    end = time.monotonic() + 30
    while sys.getswitchinterval() != usual and time.monotonic() < end:
        time.sleep(0.001)
    assert sys.getswitchinterval() == usual
    assert seen == pytest.approx([0.0001])


def compute(progress: list[int], pieces: int) -> None:
    for number in range(pieces):
        end = time.thread_time() + 0.005
        while time.thread_time() < end:
            pass
        give_way()
        progress.append(number)


def block() -> None:
    """A turn of the loop whose system calls leave the interpreter lock to the thread."""
    time.sleep(0.02)


async def test_a_thread_gives_way_until_the_turn_of_the_loop_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge_threads, "_GIVE_WAY_FOR_S", 30.0)
    progress, turns = list[int](), list[int]()
    work = asyncio.ensure_future(in_thread(lambda: compute(progress, 20), user="one"))
    while not work.done():
        before = len(progress)
        block()
        turns.append(len(progress) - before)
        await asyncio.sleep(0)
    assert len(progress) == 20
    assert max(turns) <= 1


async def test_a_loop_that_stays_busy_does_not_stop_a_thread() -> None:
    is_done = threading.Event()

    def finish() -> None:
        compute([], 3)
        is_done.set()

    work = asyncio.ensure_future(in_thread(finish, user="one"))
    await asyncio.sleep(0)
    assert is_done.wait(30)  # The loop turns no more until then.
    await work


def test_outside_the_threads_nobody_gives_way() -> None:
    compute([], 1)
