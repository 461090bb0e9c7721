"""Lets the event loop go on when a computation over many objects has taken its time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

_TURN_S: Final = 0.01


class Turn:
    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._until_s = clock, clock() + _TURN_S

    async def rest(self) -> None:
        if self._clock() > self._until_s:
            await asyncio.sleep(0)
            self._until_s = self._clock() + _TURN_S
