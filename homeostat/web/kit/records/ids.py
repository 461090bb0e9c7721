"""Small numbers for objects, counted up from 1; no number is given twice.

The last number of each series is in a ConfigMap that is replaced only in the form in which it was read, so any number
of servers may count in it. Those who ask at the same moment are served by one write. A number that was taken and not
used is never used.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Final, Protocol

import msgspec

from homeostat.client.base import Client
from homeostat.objects.errors import AlreadyExistsError, ConflictError, NotFoundError, UnavailableError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import CONFIG_MAP

ID: Final = "homeostat.dev/id"
"""A label: the number that callers know the object by."""
COUNTERS: Final = "homeostat-rest-ids"
_ATTEMPTS: Final = 50
_PAUSE_S: Final = 0.02
_MOST_DIGITS: Final = 15


def number_in(label: str) -> int:
    """0 where it is no number that was given out here."""
    is_number = label.isascii() and label.isdecimal() and len(label) <= _MOST_DIGITS and not label.startswith("0")
    return int(label) if is_number else 0


class Numbers(Protocol):
    async def take(self, series: str) -> int: ...


class _Wish(msgspec.Struct):
    series: str
    count: int
    first: int = 0
    """0 until it is fulfilled."""


class Ids:
    """`floor` gives the highest number of a series that is known to be in use, should the counters be lost."""

    def __init__(
        self,
        client: Client,
        *,
        namespace: str,
        floor: Callable[[str], int] = lambda _: 0,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._client, self._floor, self._chance = client, floor, chance
        self._all, self._path = CONFIG_MAP.path(namespace), CONFIG_MAP.path(namespace, COUNTERS)
        self._read: JsonObject | None = None
        self._wishes: list[_Wish] = []
        self._writing = asyncio.Lock()

    async def take(self, series: str) -> int:
        return await self.take_block(series, 1)

    async def take_block(self, series: str, count: int) -> int:
        """The first of so many in a row."""
        wish = _Wish(series, count)
        self._wishes.append(wish)
        async with self._writing:
            if not wish.first:
                await self._fulfil()
        return wish.first

    async def _fulfil(self) -> None:
        """Held under the lock over a request: that is what makes one write of many wishes."""
        wishes, self._wishes = self._wishes, []
        try:
            for attempt in range(_ATTEMPTS):
                if await self._write(wishes):
                    return
                await asyncio.sleep(_PAUSE_S * self._chance() * min(attempt, 10))
            raise UnavailableError("cannot assign a number to the new object: too many concurrent changes")
        finally:
            # Whoever waits for one of these goes on by itself.
            self._wishes = [each for each in wishes if not each.first] + self._wishes

    async def _write(self, wishes: list[_Wish]) -> bool:
        """Whether it was this one that counted on; if not, what others counted is known."""
        counted = self._read or {"metadata": {"name": COUNTERS}, "data": {}}
        last = {name: number_in(told) for name, told in (counted.get("data") or {}).items()}
        firsts = []
        for wish in wishes:
            first = max(last.get(wish.series, 0), self._floor(wish.series)) + 1
            last[wish.series] = first + wish.count - 1
            firsts.append(first)
        data = {name: str(number) for name, number in last.items()}
        try:
            if self._read is None:
                self._read = await self._client.create(self._all, {**counted, "data": data})
            else:
                self._read = await self._client.update(self._path, {**counted, "data": data})
        except (ConflictError, AlreadyExistsError, NotFoundError):
            await self._look()
            return False
        for wish, first in zip(wishes, firsts, strict=True):
            wish.first = first
        return True

    async def _look(self) -> None:
        try:
            self._read = await self._client.get(self._path)
        except NotFoundError:
            self._read = None
