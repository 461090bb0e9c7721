"""Bounds what a server buffers for all clients together that do not read their responses.

Each connection buffers little, but there may be thousands of them. Connections whose transport is full report how many
bytes wait for their client. If that is more than the limit in total, the connection with the most bytes is closed.
"""

from __future__ import annotations

import asyncio
from typing import Protocol


class Reader(Protocol):
    def cut_off(self) -> None:
        """Close the connection and discard what the client has not read."""


class Unread:
    __slots__ = ("_limit", "_loop", "_sizes", "total")

    def __init__(self, limit: int, loop: asyncio.AbstractEventLoop) -> None:
        self._limit = limit
        self._loop = loop
        self._sizes: dict[Reader, int] = {}
        self.total = 0

    def report(self, reader: Reader, size: int) -> None:
        """The bytes that wait for a client that does not read at the moment."""
        self.total += size - self._sizes.get(reader, 0)
        self._sizes[reader] = size
        while self.total > self._limit:
            worst = max(self._sizes, key=self._sizes.__getitem__)
            self.discard(worst)
            # Not at once: this may be called from inside a write of that connection.
            self._loop.call_soon(worst.cut_off)

    def discard(self, reader: Reader) -> None:
        """The client has caught up, or is gone."""
        self.total -= self._sizes.pop(reader, 0)
