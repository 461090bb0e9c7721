"""Bounded turns of the event loop for work on many objects.

    turn = Turn()
    for each in objects:
        compare(each)
        await turn.pause()

`pause` returns at once until the turn has taken its time, and lets others run then. Several tasks may share one `Turn`:
one of them at a time lets others run. If all did at once, each would take a turn of its own before anybody else.
`shared_turn` is for all that is produced for clients on an event loop, however many they are.

`map_concurrently` does work that waits, such as a request for each object, on a limited number of them at once:

    counts = await map_concurrently(count, kinds, at_once=8)
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypeVar

T = TypeVar("T")
R = TypeVar("R")
TURN_S: Final = 0.005
_shared: dict[asyncio.AbstractEventLoop, Turn] = {}


class Turn:
    __slots__ = ("_clock", "_pausing", "_until")

    def __init__(self) -> None:
        self._clock = asyncio.get_running_loop().time
        self._until = self._clock() + TURN_S
        self._pausing: asyncio.Lock | None = None

    async def pause(self) -> None:
        if self._clock() < self._until:
            return
        if self._pausing is None:
            self._pausing = asyncio.Lock()
        async with self._pausing:
            await asyncio.sleep(0)
            self._until = self._clock() + TURN_S


def shared_turn() -> Turn:
    """The same for all on this event loop."""
    loop = asyncio.get_running_loop()
    turn = _shared.get(loop)
    if turn is None:
        for closed in [each for each in list(_shared) if each.is_closed()]:
            _shared.pop(closed, None)
        turn = _shared[loop] = Turn()
    return turn


async def map_concurrently(
    work: Callable[[T], Awaitable[R]], items: Iterable[T], *, at_once: int, turn: Turn | None = None
) -> list[R]:
    """The results in the order of the items. The first error cancels the rest, and is raised alone. Work that never
    waits lets others run all the same, at each end of `turn`.
    """
    ordered, turn = list(items), turn or Turn()
    results: dict[int, R] = {}
    remaining = iter(enumerate(ordered))

    async def worker() -> None:
        for place, item in remaining:
            results[place] = await work(item)
            await turn.pause()

    try:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(min(at_once, len(ordered))):
                tasks.create_task(worker())
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return [results[place] for place in range(len(ordered))]
