"""Time that passes only when everybody waits: asyncio code that sleeps for hours is tested in milliseconds.

    @virtual_time
    async def test_a_retry_comes_after_its_backoff() -> None:
        await asyncio.sleep(3600)

The loop's clock starts at 0 and jumps to the next timer when nothing is ready to run, so a test takes the same steps in
each run. What would wait for ever is an error instead. Not for code with threads or sockets: their time is not ours.
"""

from __future__ import annotations

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class NothingLeftError(RuntimeError):
    """Everybody waits, and no timer will ever wake anyone."""


class _Selector(selectors.DefaultSelector):
    """Instead of blocking, moves the clock on."""

    elapsed_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready: list[tuple[selectors.SelectorKey, int]] = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            raise NothingLeftError("every task waits and no timer is set")
        self.elapsed_s += timeout
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._clock = _Selector()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.elapsed_s

    def advance(self, seconds: float) -> None:
        """Moves the clock on, as work that takes its time would."""
        self._clock.elapsed_s += seconds


def run_virtually(main: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


def virtual_time(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Runs a coroutine function, say a test, on a `VirtualLoop` of its own."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        return run_virtually(function(*args, **kwargs))

    return run
