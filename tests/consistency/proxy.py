"""A network that fails: a TCP proxy that cuts connections, refuses new ones, and loses one message in a chosen way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Literal

Fate = Literal["answer-lost", "never-arrives", "arrives-later"]
"""What becomes of a message: carried out and not answered, not carried out, or carried out when all seems over."""

_CHUNK_BYTES = 1 << 16


class Wire:
    """One connection through the proxy."""

    def __init__(self, proxy: Proxy, client: asyncio.StreamWriter, server: asyncio.StreamWriter) -> None:
        self._proxy = proxy
        self.client, self.server = client, server
        self._is_mute = False
        self._held = b""
        self.has_ended = asyncio.Event()

    @property
    def is_held(self) -> bool:
        return bool(self._held)

    async def carry_up(self, source: asyncio.StreamReader) -> None:
        while data := await source.read(_CHUNK_BYTES):
            fate = self._proxy.fate_of(data)
            if fate == "never-arrives":
                self.cut()
                return
            if fate == "arrives-later":
                self._held = data
                self.client.transport.abort()
                return
            self._is_mute = fate == "answer-lost"
            self.server.write(self._proxy.alter(data))
        if not self._held:
            self.server.close()

    async def carry_down(self, source: asyncio.StreamReader) -> None:
        while data := await source.read(_CHUNK_BYTES):
            if self._is_mute:
                self.cut()
                return
            if not self.client.is_closing():
                self.client.write(data)
        self.client.close()

    def cut(self) -> None:
        self.client.transport.abort()
        if not self._held:
            self.server.transport.abort()

    async def release(self) -> None:
        self.server.write(self._held)
        await self.server.drain()
        self._held = b""
        self.server.write_eof()


class Proxy:
    """Leads to one port of this machine and listens on `port`."""

    def __init__(self, target: int) -> None:
        self._target = target
        self.port = 0
        self.is_refusing = False
        self.alter: Callable[[bytes], bytes] = lambda data: data
        """What the server gets of a message."""
        self._wires: set[Wire] = set()
        self._serving: set[asyncio.Task[None]] = set()
        self._doom: tuple[bytes, Fate] | None = None
        self.has_met_doom = asyncio.Event()

    def doom(self, marker: bytes, fate: Fate) -> None:
        """The next message to the server that contains `marker` meets this fate, and its connection ends."""
        self._doom = (marker, fate)
        self.has_met_doom.clear()

    def fate_of(self, data: bytes) -> Fate | None:
        if self._doom is None or self._doom[0] not in data:
            return None
        _, fate = self._doom
        self._doom = None
        self.has_met_doom.set()
        return fate

    def cut(self) -> None:
        """Every connection ends at once, at both ends."""
        for wire in list(self._wires):
            wire.cut()

    async def release(self) -> None:
        """Let what arrives later arrive, and wait until the server is done with it."""
        for wire in list(self._wires):
            if wire.is_held:
                await wire.release()
                await wire.has_ended.wait()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            if self.is_refusing:
                writer.transport.abort()
            else:
                await self._join(reader, writer)
        except OSError:
            writer.transport.abort()
        finally:
            self._serving.discard(task)

    async def ended(self) -> None:
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, server = await asyncio.open_connection("127.0.0.1", self._target)
        wire = Wire(self, writer, server)
        self._wires.add(wire)
        try:
            await asyncio.gather(wire.carry_up(reader), wire.carry_down(answers), return_exceptions=True)
        finally:
            writer.transport.abort()
            server.transport.abort()
            self._wires.discard(wire)
            wire.has_ended.set()


@asynccontextmanager
async def running_proxy(target: int) -> AsyncIterator[Proxy]:
    proxy = Proxy(target)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        proxy.is_refusing = True
        server.close()
        await proxy.release()
        proxy.cut()
        await proxy.ended()
        await server.wait_closed()
