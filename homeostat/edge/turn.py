"""A bounded turn of the event loop for a computation over many objects.

    turn = Turn()
    for each in objects:
        compare(each)
        await turn.pause()

`pause` returns at once until the turn has taken its time, and lets others run then. Several tasks may share one `Turn`:
one of them at a time lets others run. If all did at once, each would take a turn of its own before anybody else.
`shared_turn` is for all that is produced for clients on an event loop, however many they are.
"""

from __future__ import annotations

import asyncio
from typing import Final

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
