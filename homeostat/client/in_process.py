"""A transport to the embedded plane without a socket: the same handler and the same bytes."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

from homeostat.client.base import Response
from homeostat.client.http.retries import parse_retry_after
from homeostat.edge.items import whole_of
from homeostat.edge.reply import Reply, StreamReply
from homeostat.edge.request import Headers, Peer, Request
from homeostat.edge.stream import CloseCallbacks, unframe
from homeostat.edge.turn import Turn

Handler = Callable[[Request], Reply | StreamReply | Awaitable[Reply | StreamReply]]
_LIMIT_BYTES = 64 << 20


class LocalStream:
    """A `Stream` whose reader is in the same process. A slow reader is disconnected here, too."""

    __slots__ = ("_buffered", "_callbacks", "_chunks", "_ready", "closed", "is_broken")

    def __init__(self) -> None:
        self._chunks: deque[bytes] = deque()
        self._buffered = 0
        self._ready = asyncio.Event()
        self._callbacks = CloseCallbacks()
        self.closed = False
        self.is_broken = False

    def send(self, chunk: bytes) -> None:
        if self.closed:
            return
        self._chunks.append(chunk)
        self._buffered += len(chunk)
        self._ready.set()
        if self._buffered > _LIMIT_BYTES:
            self.abort()

    @property
    def buffered(self) -> int:
        return self._buffered

    async def drain(self) -> None:
        await asyncio.sleep(0)

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._callbacks.schedule()
            self._ready.set()

    def abort(self) -> None:
        self.is_broken = True
        self.close()

    def on_close(self, callback: Callable[[], None]) -> None:
        self._callbacks.add(callback)

    async def chunks(self) -> AsyncGenerator[bytes]:
        """The data, until the stream is closed. Leaving the loop closes it."""
        try:
            while True:
                while self._chunks:
                    chunk = self._chunks.popleft()
                    self._buffered -= len(chunk)
                    yield unframe(chunk)
                if self.closed:
                    return
                self._ready.clear()
                await self._ready.wait()
        finally:
            self.close()

    async def lines(self) -> AsyncIterator[bytes]:
        """The lines, until the stream is closed. A long line may come in several chunks."""
        begun: list[bytes] = []
        async with aclosing(self.chunks()) as chunks:
            async for chunk in chunks:
                *lines, rest = chunk.split(b"\n")
                if lines and begun:
                    lines[0] = b"".join((*begun, lines[0]))
                    begun.clear()
                if rest:
                    begun.append(rest)
                for line in lines:
                    yield line


class InProcess:
    """A transport for `Client`. The handler authenticates the caller by `connection`, or else by the bearer token.

    Most calls are answered without a wait, so a caller that reads page after page would hold the event loop until the
    last one. Calls let others run when they have taken their turn.
    """

    def __init__(
        self, handler: Handler, connection: dict[str, Any], *, user_agent: str = "homeostat", token: str = ""
    ) -> None:
        self._handler = handler
        self._connection = connection
        self._user_agent = user_agent
        self._token = token
        self._peer = Peer("")
        self._turn: Turn | None = None

    async def _answer(
        self, method: str, path: str, query: str, *, body: bytes = b"", content_type: str = "", accept: str = ""
    ) -> Reply | StreamReply:
        headers = Headers()
        headers.add("user-agent", self._user_agent)
        headers.add("host", "localhost")
        if self._token:
            headers.add("authorization", f"Bearer {self._token}")
        if content_type:
            headers.add("content-type", content_type)
        if accept:
            headers.add("accept", accept)
        answer = self._handler(Request(method, path, query, headers, body, self._peer, self._connection))
        return await answer if isinstance(answer, Awaitable) else answer

    async def send(
        self, method: str, path: str, *, query: str = "", body: bytes = b"", content_type: str = "", accept: str = ""
    ) -> Response:
        if self._turn is None:
            self._turn = Turn()
        await self._turn.pause()
        answer = await self._answer(method, path, query, body=body, content_type=content_type, accept=accept)
        if isinstance(answer, Reply):
            return _response(answer)
        if not answer.is_finite:
            raise TypeError(f"{path} answers with a stream")
        stream = LocalStream()
        answer.start(stream)
        body = b"".join([chunk async for chunk in stream.chunks()])
        if stream.is_broken:
            raise ConnectionResetError(f"the response to {path} is incomplete")
        return Response(answer.status, body, None)

    async def stream(self, path: str, *, query: str = "", accept: str = "") -> Response | AsyncIterator[bytes]:
        answer = await self._answer("GET", path, query, accept=accept)
        if isinstance(answer, Reply):
            return _response(answer)
        stream = LocalStream()
        answer.start(stream)
        return stream.lines()


def _response(answer: Reply) -> Response:
    body = whole_of(answer.body)
    retry_after = next((value for name, value in answer.headers if name.lower() == "retry-after"), None)
    return Response(answer.status, body, parse_retry_after(retry_after))
