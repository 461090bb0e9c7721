"""Bounds the memory that all connections of a server take together.

Each connection takes little, but there may be thousands of them. Two things are counted: bytes that wait for clients
that do not read (`Unread`), and large request bodies (`Bodies`).
"""

from __future__ import annotations

import asyncio
from typing import Protocol

LARGE_BYTES = 64 * 1024
"""Smaller bodies do not count."""


class Reader(Protocol):
    def cut_off(self) -> None:
        """Close the connection and discard what the client has not read."""


class Unread:
    """Connections report the bytes that wait for their client while their transport is full.

    If these are more than the limit in total, the connection with the most bytes is closed.
    """

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


class Uploader(Protocol):
    def refuse_upload(self) -> None:
        """Refuse the request whose body is being received."""


class Bodies:
    """A large body counts from its first bytes until its request is answered.

    If there are too many, the upload that began first is refused: a slow client keeps an unfinished body longest.
    Requests that are being answered go on.
    """

    __slots__ = ("_limit", "_received", "_uploads", "total")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._uploads: dict[Uploader, int] = {}
        self._received: dict[Uploader, int] = {}
        self.total = 0

    def receive(self, connection: Uploader, size: int) -> None:
        """A body of which so many bytes have arrived."""
        self.total += size - self._uploads.get(connection, 0)
        self._uploads[connection] = size
        while self.total > self._limit and self._uploads:
            oldest = next(iter(self._uploads))
            self.total -= self._uploads.pop(oldest)
            oldest.refuse_upload()

    def answer(self, connection: Uploader, size: int) -> None:
        """The body is complete, and its request is being answered."""
        self.total += size - self._uploads.pop(connection, 0) - self._received.get(connection, 0)
        self._received[connection] = size

    def discard(self, connection: Uploader) -> None:
        """The request is answered, or the connection is gone."""
        self.total -= self._uploads.pop(connection, 0) + self._received.pop(connection, 0)
