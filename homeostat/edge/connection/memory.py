"""Bounds the memory that all connections of a server take together.

Each connection takes little, but there may be thousands of them. Two things are counted: bytes that wait for clients
that do not read (`Unread`), and large request bodies (`Bodies`).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Hashable
from typing import NamedTuple, Protocol

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


class _Body(NamedTuple):
    client: Hashable
    size: int


class Uploader(Protocol):
    def refuse_upload(self) -> None:
        """Refuse the request whose body is being received."""


class Bodies:
    """A large body counts from its first bytes until its request is answered. Requests that are being answered go on,
    so of them each client may have as much as all clients leave free: one alone half of the limit, two a third each,
    and there is always room for one more. Beyond that, the client's upload that began first is refused.

    If there are too many uploads of all clients, the one that began first is refused: a slow client keeps an unfinished
    body longest.
    """

    __slots__ = ("_answering", "_limit", "_of_client", "_received", "_uploads", "total")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._uploads: dict[Uploader, _Body] = {}
        self._received: dict[Uploader, _Body] = {}
        self._of_client: Counter[Hashable] = Counter()
        self._answering = 0
        """Bytes of the bodies that are complete."""
        self.total = 0

    def receive(self, connection: Uploader, client: Hashable, size: int) -> None:
        """A body of which so many bytes have arrived."""
        self._count(self._uploads.get(connection), -1)
        body = self._uploads[connection] = _Body(client, size)
        self._count(body, 1)
        while self._of_client[client] > self._limit - self._answering and self._refuse_first_of(client):
            pass
        while self.total > self._limit and self._uploads:
            self._refuse(next(iter(self._uploads)))

    def answer(self, connection: Uploader, client: Hashable, size: int) -> None:
        """The body is complete, and its request is being answered."""
        self.discard(connection)
        body = self._received[connection] = _Body(client, size)
        self._count(body, 1)
        self._answering += size

    def discard(self, connection: Uploader) -> None:
        """The request is answered, or the connection is gone."""
        self._count(self._uploads.pop(connection, None), -1)
        body = self._received.pop(connection, None)
        self._count(body, -1)
        self._answering -= body.size if body is not None else 0

    def _count(self, body: _Body | None, times: int) -> None:
        if body is None:
            return
        self.total += times * body.size
        self._of_client[body.client] += times * body.size
        if not self._of_client[body.client]:
            del self._of_client[body.client]

    def _refuse_first_of(self, client: Hashable) -> bool:
        """Whether it has an upload."""
        for connection, body in self._uploads.items():
            if body.client == client:
                self._refuse(connection)
                return True
        return False

    def _refuse(self, connection: Uploader) -> None:
        self._count(self._uploads.pop(connection), -1)
        connection.refuse_upload()
