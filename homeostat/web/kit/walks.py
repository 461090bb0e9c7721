"""Walks over many values, such as all resources for a filter, without holding the event loop.

    async for each in walks.over(candidates): ...

All walks together take one slice of a few milliseconds in a turn of the loop: with a slice for each of them, sixty
requests at once would hold it for as long as one walk without slices. The values are taken from the iterator when they
are needed, so it must allow changes in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Iterator
from itertools import islice
from time import perf_counter
from typing import Final, TypeVar

SLICE_S: Final = 0.004
_AT_ONCE: Final = 50
"""Values between two looks at the clock; as many are taken without waiting for a slice."""
T = TypeVar("T")


class Walks:
    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    async def over(self, values: Iterable[T]) -> AsyncGenerator[T, None]:
        iterator = iter(values)
        taken = list(islice(iterator, _AT_ONCE))
        while True:
            for each in taken:
                yield each
            if not taken or len(taken) % _AT_ONCE:
                return
            async with self._turn:
                taken = _slice(iterator)
                # Whoever waits for the lock gets it in the next turn.
                await asyncio.sleep(0)


def _slice(iterator: Iterator[T]) -> list[T]:
    taken: list[T] = []
    ends_at = perf_counter() + SLICE_S
    while perf_counter() < ends_at or not taken:
        few = list(islice(iterator, _AT_ONCE))
        taken += few
        if len(few) < _AT_ONCE:
            break
    return taken
