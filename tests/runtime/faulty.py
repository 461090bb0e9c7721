"""What stands between a client and its server and does it badly, and a mirror that notices when a change is lost."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from homeostat.client.base import Client, Response, Transport
from homeostat.objects.errors import ApiError, status_of
from homeostat.objects.json import encode
from homeostat.objects.time.backoff import Backoff
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.cache.index import Name
from homeostat.runtime.cache.informer import Informer
from homeostat.runtime.watch.watcher import Pace
from tests.runtime.projections import Pod

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
QUICK = Pace(backoff=Backoff(first_s=0.01, cap_s=0.1), silence_s=0.4, steady_s=0.2, relist_every_s=600, page=5)


class FaultyTransport:
    """Passes everything on, except the requests it shall refuse and the lines it shall change."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.refusals: deque[ApiError] = deque()
        self.stream_refusals: deque[ApiError] = deque()
        self.bend: Callable[[bytes], list[bytes]] = lambda line: [line]
        self.held: dict[str, asyncio.Event] = {}
        """By path: lines of its watch are kept back until it is set."""
        self.streams = 0
        self.sent: list[str] = []

    async def send(
        self, method: str, path: str, *, query: str = "", body: bytes = b"", content_type: str = "", accept: str = ""
    ) -> Response:
        self.sent.append(query)
        if self.refusals:
            return _response(self.refusals.popleft())
        return await self._inner.send(method, path, query=query, body=body, content_type=content_type, accept=accept)

    async def stream(self, path: str, *, query: str = "", accept: str = "") -> Response | AsyncIterator[bytes]:
        self.streams += 1
        self.sent.append(query)
        if self.stream_refusals:
            return _response(self.stream_refusals.popleft())
        lines = await self._inner.stream(path, query=query, accept=accept)
        return lines if isinstance(lines, Response) else self._bent(path, lines)

    async def _bent(self, path: str, lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for line in lines:
            if path in self.held:
                await self.held[path].wait()
            for each in self.bend(line):
                yield each


def _response(error: ApiError) -> Response:
    return Response(error.code, encode(status_of(error)))


class Proxy:
    """A TCP proxy. `budget` says how many bytes a new connection may bring to the client before it is reset."""

    def __init__(self, port: int) -> None:
        self._upstream_port = port
        self._open: set[asyncio.StreamWriter] = set()
        self.port = 0
        self.connections = 0
        self.is_frozen = False
        self.budget: Callable[[], int | None] = lambda: None

    def reset(self) -> None:
        for writer in self._open:
            writer.transport.abort()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._open.add(writer)
        try:
            from_server, to_server = await asyncio.open_connection("127.0.0.1", self._upstream_port)
            up = asyncio.create_task(self._pump(reader, to_server, None))
            try:
                await self._pump(from_server, writer, self.budget())
            finally:
                up.cancel()
                to_server.transport.abort()
        finally:
            self._open.discard(writer)
            writer.transport.abort()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, budget: int | None) -> None:
        with suppress(OSError):
            while chunk := await reader.read(65536):
                if self.is_frozen:
                    # The connection is from before the freeze: its bytes are lost, and nobody says so.
                    continue
                if budget is not None:
                    chunk, budget = chunk[:budget], budget - len(chunk)
                writer.write(chunk)
                await writer.drain()
                if budget is not None and budget <= 0:
                    return


@asynccontextmanager
async def open_proxy(port: int) -> AsyncIterator[Proxy]:
    proxy = Proxy(port)
    tasks: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(proxy.serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Mirror:
    """Repeats each change. One that does not go on from where the object was before means that another was lost."""

    def __init__(self, informer: Informer[Pod]) -> None:
        self.objects: dict[Name, Pod] = {}
        self.changes = 0
        self._informer = informer
        informer.add_handler(self._repeat)

    def _repeat(self, change: Change[Pod]) -> None:
        key = (change.namespace, change.name)
        assert self.objects.get(key) == change.old, f"{key}: a change before this one was lost"
        self.changes += 1
        if change.new is None:
            del self.objects[key]
        else:
            self.objects[key] = change.new

    @property
    def versions(self) -> dict[str, str]:
        """By name, if the mirror and the cache agree."""
        assert {(each.metadata.namespace, each.metadata.name): each for each in self._informer.cache} == self.objects
        return {name: obj.metadata.resource_version for (_, name), obj in self.objects.items()}


async def versions(client: Client, path: str = CONFIG_MAPS) -> dict[str, str]:
    objects, _ = await client.list(path)
    return {each["metadata"]["name"]: each["metadata"]["resourceVersion"] for each in objects}


async def eventually(holds: Callable[[], Awaitable[bool]], *, within_s: float = 30.0) -> None:
    async with asyncio.timeout(within_s):
        while not await holds():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def agree(mirror: Mirror, client: Client, *, within_s: float = 30.0) -> None:
    """The mirror comes to show what the server has."""

    async def is_equal() -> bool:
        return mirror.versions == await versions(client)

    await eventually(is_equal, within_s=within_s)


async def write(client: Client, name: str, text: str = "") -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": text}}
    await client.apply(f"{CONFIG_MAPS}/{name}", body, manager="test", force=True)


async def remove(client: Client, name: str) -> None:
    await client.delete(f"{CONFIG_MAPS}/{name}")
