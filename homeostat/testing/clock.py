"""Virtual time for tests: asyncio code that sleeps for hours is tested in milliseconds.

    @virtual_time
    async def test_a_retry_comes_after_its_backoff() -> None:
        await asyncio.sleep(3600)

The loop's clock starts at 0 and jumps to the next timer when nothing is ready to run, so a test takes the same steps in
each run. If all tasks wait and no timer is set, it is an error. It does not work for code with threads or sockets.
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
    """All tasks wait, and no timer is set."""


class _Selector(selectors.DefaultSelector):
    """Advances the clock instead of blocking."""

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
        """Advances the clock, as slow synchronous work would."""
        self._clock.elapsed_s += seconds


def run_virtually(main: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


def virtual_time(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Runs a coroutine function, such as a test, on its own `VirtualLoop`."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        return run_virtually(function(*args, **kwargs))

    return run
