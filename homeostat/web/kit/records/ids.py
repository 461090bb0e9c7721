"""Small numbers for objects, counted up from 1. No number is assigned twice.

The last number of each series is in a ConfigMap, which is updated with its resource version, so several servers can
share it. Concurrent requests are served by one write. A number that was taken and not used stays unused.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Final

import msgspec

from homeostat.client.base import Client
from homeostat.objects.errors import AlreadyExistsError, ConflictError, NotFoundError, UnavailableError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import CONFIG_MAP

ID: Final = "homeostat.dev/id"
"""The label with the number by which callers know the object."""
COUNTERS: Final = "homeostat-rest-ids"
LARGEST_FLOOR: Final = 10**9
"""Labels with larger numbers do not count: whoever may label objects could use up all that callers can write."""
_ATTEMPTS: Final = 50
_PAUSE_S: Final = 0.02
_MOST_DIGITS: Final = 15


def number_in(label: str) -> int:
    """The number in a label; 0 if it is not a valid one."""
    is_number = label.isascii() and label.isdecimal() and len(label) <= _MOST_DIGITS and not label.startswith("0")
    return int(label) if is_number else 0


class _Request(msgspec.Struct):
    series: str
    count: int
    first: int = 0
    """0 until it is served."""


class Ids:
    """`floor` returns the highest number of a series that is in use, in case the ConfigMap is lost."""

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
        self._requests: list[_Request] = []
        self._writing = asyncio.Lock()

    async def take(self, series: str) -> int:
        return await self.take_block(series, 1)

    async def take_block(self, series: str, count: int) -> int:
        """The first of `count` consecutive numbers."""
        request = _Request(series, count)
        self._requests.append(request)
        async with self._writing:
            if not request.first:
                await self._serve()
        return request.first

    async def _serve(self) -> None:
        """Runs under the lock, also while it waits for the server: this is what joins many requests into one write."""
        requests, self._requests = self._requests, []
        try:
            for attempt in range(_ATTEMPTS):
                if await self._write(requests):
                    return
                await asyncio.sleep(_PAUSE_S * self._chance() * min(attempt, 10))
            raise UnavailableError("cannot assign a number to the new object: too many concurrent changes")
        finally:
            # Whoever waits for one of these serves it itself.
            self._requests = [each for each in requests if not each.first] + self._requests

    async def _write(self, requests: list[_Request]) -> bool:
        """Whether the write succeeded; if not, the current state has been read again."""
        counted = self._read or {"metadata": {"name": COUNTERS}, "data": {}}
        last = {name: number_in(text) for name, text in (counted.get("data") or {}).items()}
        firsts = []
        for request in requests:
            floor = min(self._floor(request.series), LARGEST_FLOOR)
            first = max(last.get(request.series, 0), floor) + 1
            last[request.series] = first + request.count - 1
            firsts.append(first)
        data = {name: str(number) for name, number in last.items()}
        try:
            if self._read is None:
                self._read = await self._client.create(self._all, {**counted, "data": data})
            else:
                self._read = await self._client.update(self._path, {**counted, "data": data})
        except (ConflictError, AlreadyExistsError, NotFoundError):
            await self._reload()
            return False
        for request, first in zip(requests, firsts, strict=True):
            request.first = first
        return True

    async def _reload(self) -> None:
        try:
            self._read = await self._client.get(self._path)
        except NotFoundError:
            self._read = None
