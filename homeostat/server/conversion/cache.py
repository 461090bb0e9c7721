"""Converted records, shared by all readers of a version and kept while there is room.

A record never changes, so its conversion is found by its revision. A conversion that somebody waits for is here too, so
that a thousand watchers of one object ask the webhook once.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict

from homeostat.server.conversion.conversion import Conversion
from homeostat.store.base import Record

MOST_BYTES = 32 * 1024 * 1024
"""Of converted objects in memory; those used longest ago are converted again when they are needed."""
_OVERHEAD_BYTES = 400

Place = tuple[Conversion, str, int]
"""A conversion, the wanted apiVersion, and the revision of the record."""
Found = Record | asyncio.Future[Record]


class Cache:
    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[Place, Record] = OrderedDict()
        self._awaited: dict[Place, asyncio.Future[Record]] = {}

    def find(self, place: Place) -> Found | None:
        record = self._kept.get(place)
        if record is None:
            return self._awaited.get(place)
        self._kept.move_to_end(place)
        return record

    def expect(self, place: Place) -> asyncio.Future[Record]:
        """A promise of the record, which `keep` or `fail` must follow."""
        promise = self._awaited[place] = asyncio.get_running_loop().create_future()
        # Everybody who waited may be gone before it fails.
        promise.add_done_callback(lambda it: it.cancelled() or it.exception())
        return promise

    def keep(self, place: Place, record: Record) -> None:
        if (promise := self._awaited.pop(place, None)) is not None and not promise.done():
            promise.set_result(record)
        if (former := self._kept.pop(place, None)) is not None:
            self._bytes -= _size(former)
        self._kept[place] = record
        self._bytes += _size(record)
        while self._bytes > self._most:
            _, oldest = self._kept.popitem(last=False)
            self._bytes -= _size(oldest)

    def fail(self, place: Place, error: BaseException) -> None:
        if (promise := self._awaited.pop(place, None)) is not None and not promise.done():
            promise.set_exception(error)


def _size(record: Record) -> int:
    return len(record.value) + _OVERHEAD_BYTES
