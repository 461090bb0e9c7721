"""Runs a coroutine at once, up to its first wait.

Most calls never wait: a get reads memory and is answered in the same turn of the event loop, without the cost of a
task. Only a coroutine that does wait continues in a task. (Code before the first wait has no current task, so it cannot
use `asyncio.timeout` or task groups.)
"""

from __future__ import annotations

from collections.abc import Awaitable, Coroutine, Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Started(Generic[T]):
    """A coroutine that waits for its first future; await it once to finish it."""

    __slots__ = ("_coroutine", "_first")

    def __init__(self, coroutine: Coroutine[Any, Any, T], first: Any) -> None:
        self._coroutine = coroutine
        self._first = first

    def __await__(self) -> Generator[Any, Any, T]:
        coroutine, waiting_for = self._coroutine, self._first
        self._first = None
        try:
            while True:
                try:
                    sent = yield waiting_for
                except GeneratorExit:
                    coroutine.close()
                    raise
                except BaseException as error:
                    # The error has this frame, and a future that failed has the error: a cycle that would keep the call
                    # and its body until the next garbage collection.
                    waiting_for = None
                    waiting_for = coroutine.throw(error)
                else:
                    waiting_for = coroutine.send(sent)
        except StopIteration as stop:
            result: T = stop.value
            return result


def run_eagerly(coroutine: Coroutine[Any, Any, T]) -> T | Awaitable[T]:
    """The coroutine's result if it never waits; otherwise an awaitable of it."""
    try:
        first = coroutine.send(None)
    except StopIteration as stop:
        result: T = stop.value
        return result
    return Started(coroutine, first)
