"""A connection without a network: the test says which bytes come, in which pieces, and when it is lost."""

from __future__ import annotations

import asyncio
from collections import deque

from homeostat.client.http.connection import Connection

REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


class Wire(asyncio.Transport):
    """As a transport of the event loop: what comes while reading is paused waits, and an end comes after it."""

    def __init__(self) -> None:
        super().__init__()
        self.connection = Connection()
        self.written: list[bytes] = []
        self.is_paused = self._is_closing = False
        self._waiting: deque[bytes] = deque()
        self._end: list[Exception | None] = []
        self.connection.connection_made(self)

    def say(self, *pieces: bytes) -> None:
        self._waiting += [piece for piece in pieces if piece]
        self._flush()

    def lose(self, error: Exception | None = None) -> None:
        self._end.append(error)
        self._flush()

    def begin_closing(self) -> None:
        """As one whose loss the event loop has seen, and reports in its next turn."""
        self._is_closing = True

    def _flush(self) -> None:
        while self._waiting and not self.is_paused and not self._is_closing:
            self.connection.data_received(self._waiting.popleft())
        if self._end and not self.is_paused and not self._is_closing:
            self._is_closing = True
            self.connection.connection_lost(self._end[0])

    # What the connection asks of it.

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written.append(bytes(data))

    def is_closing(self) -> bool:
        return self._is_closing

    def abort(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            asyncio.get_running_loop().call_soon(self.connection.connection_lost, None)

    def pause_reading(self) -> None:
        assert not self.is_paused
        self.is_paused = True

    def resume_reading(self) -> None:
        assert self.is_paused
        self.is_paused = False
        asyncio.get_running_loop().call_soon(self._flush)
