"""A server that hears late of what happens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from homeostat.client.base import Response, Transport


class Pace:
    def __init__(self) -> None:
        self._going = asyncio.Event()
        self.go()

    def hold(self) -> None:
        self._going.clear()

    def go(self) -> None:
        self._going.set()

    async def wait(self) -> None:
        await self._going.wait()


class LateTransport:
    """A transport whose watches stand still while they are held."""

    def __init__(self, transport: Transport, pace: Pace) -> None:
        self._transport, self._pace = transport, pace

    async def send(self, method: str, path: str, **options: str | bytes) -> Response:
        return await self._transport.send(method, path, **options)  # type: ignore[arg-type]

    async def stream(self, path: str, **options: str) -> Response | AsyncIterator[bytes]:
        answer = await self._transport.stream(path, **options)
        return answer if isinstance(answer, Response) else self._held(answer)

    async def _held(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for chunk in chunks:
            await self._pace.wait()
            yield chunk
