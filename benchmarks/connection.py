"""One keep-alive HTTP/1.1 connection of a load generator.

Small on purpose: what the generator costs is taken from the same two cores as the server. Answers are read by
httptools and handed to a callback; a coroutine a request is what `ask` offers to those who are not in a hurry.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from time import perf_counter
from typing import NamedTuple, cast

import httptools

from benchmarks.target import Target

PATIENCE_S = 120.0


class Answer(NamedTuple):
    status: int
    parts: list[bytes]
    at: float
    """When its last byte was here, by `perf_counter`."""

    @property
    def body(self) -> bytes:
        return b"".join(self.parts)


class Connection(asyncio.Protocol):
    """Made by `connect`. One request at a time; `answered` is called with each answer, `lost` with an end too soon."""

    answered: Callable[[Answer], None]

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._parts: list[bytes] = []
        self.lost: Callable[[], None] = lambda: None

    @property
    def is_open(self) -> bool:
        return self._transport is not None

    def send(self, request: bytes) -> None:
        assert self._transport is not None
        self._transport.write(request)

    async def ask(self, request: bytes) -> Answer:
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

        def answered(answer: Answer) -> None:
            # The caller may have given up meanwhile.
            if not future.done():
                future.set_result(answer)

        def lost() -> None:
            if not future.done():
                future.set_exception(ConnectionResetError("the server hung up"))

        self.answered, self.lost = answered, lost
        self.send(request)
        return await asyncio.wait_for(future, PATIENCE_S)

    def close(self) -> None:
        if self._transport is not None:
            self.lost = lambda: None
            self._transport.abort()

    # What the transport calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def connection_lost(self, _error: Exception | None) -> None:
        self._transport = None
        self.lost()

    # What httptools calls.

    def on_body(self, part: bytes) -> None:
        self._parts.append(part)

    def on_message_complete(self) -> None:
        parts, self._parts = self._parts, []
        self.answered(Answer(self._parser.get_status_code(), parts, perf_counter()))


async def connect(target: Target, context: ssl.SSLContext | None) -> Connection:
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(Connection, target.host, target.port, ssl=context)
    return connection
