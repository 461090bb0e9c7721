"""Connections over real sockets, in clear and under TLS, on both event loops that this may run on."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from homeostat.client.endpoint.endpoint import Endpoint
from homeostat.client.http.dialer import Dialer
from homeostat.client.http.pool import Pool
from homeostat.client.http.transport import HttpTransport, UnreachableError, open_transport
from homeostat.edge.loop import loop_factory
from tests.client.http.test_tls import Tunnel, proxying
from tests.client.wire import CHUNKED

Behaviour = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Run = Callable[[Callable[["Place"], Awaitable[None]]], None]


class Place:
    """Where a test's servers are."""

    def __init__(self, pki: Path | None) -> None:
        self.shown, self.trusted, self._authority = None, None, None
        if pki is not None:
            self.shown = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            self.shown.load_cert_chain(pki / "server.crt", pki / "server.key")
            self.trusted = ssl.create_default_context(cafile=pki / "ca.crt")
            self._authority = (pki / "ca.crt").read_bytes()

    @asynccontextmanager
    async def serving(self, behaviour: Behaviour) -> AsyncIterator[str]:
        async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                await behaviour(reader, writer)
            except (asyncio.IncompleteReadError, OSError):
                pass
            finally:
                writer.transport.abort()

        server = await asyncio.start_server(served, "127.0.0.1", 0, ssl=self.shown)
        try:
            yield f"http{'s' if self.shown else ''}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()
            await asyncio.sleep(0.02)

    def endpoint(self, server: str) -> Endpoint:
        return Endpoint(server=server, authority=self._authority)

    @asynccontextmanager
    async def reaching(self, behaviour: Behaviour) -> AsyncIterator[HttpTransport]:
        async with (
            self.serving(behaviour) as server,
            open_transport(self.endpoint(server)) as transport,
        ):
            yield transport


@pytest.fixture(params=["uvloop", "asyncio"])
def loop(request: pytest.FixtureRequest) -> Callable[[], asyncio.AbstractEventLoop]:
    return loop_factory() if request.param == "uvloop" else asyncio.new_event_loop


@pytest.fixture(params=["in clear", "TLS"])
def run(request: pytest.FixtureRequest, loop: Callable[[], asyncio.AbstractEventLoop], started_once: Path) -> Run:
    place = Place(started_once / "pki" if request.param == "TLS" else None)

    def run(fact: Callable[[Place], Awaitable[None]]) -> None:
        with asyncio.Runner(loop_factory=loop) as runner:
            runner.run(asyncio.wait_for(fact(place), 30))

    return run


async def lines_of(transport: HttpTransport) -> AsyncIterator[bytes]:
    lines = await transport.stream("/")
    assert isinstance(lines, AsyncIterator)
    return lines


def streaming(lines: int, size: int, end: bytes) -> Behaviour:
    """So many numbered lines of so many bytes, framed without regard to where they end, and then gone at once."""
    body = b"".join(b"%d ".ljust(size - 1, b"x") % number + b"\n" for number in range(lines))

    async def behaviour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(CHUNKED)
        for at in range(0, len(body), 70_001):
            piece = body[at : at + 70_001]
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        writer.write(end)
        writer.close()
        await writer.wait_closed()

    return behaviour


async def take_slowly(lines: AsyncIterator[bytes], found: list[int]) -> None:
    async for line in lines:
        found.append(int(line.split()[0]))
        if len(found) % 1000 == 1:
            await asyncio.sleep(0.03)


def test_a_slow_reader_gets_every_line_of_a_server_that_has_long_gone(run: Run) -> None:
    async def fact(place: Place) -> None:
        found: list[int] = []
        async with place.reaching(streaming(6000, 1000, b"0\r\n\r\n")) as transport:
            await take_slowly(await lines_of(transport), found)
        assert found == list(range(6000))

    run(fact)


def test_a_stream_without_its_last_chunk_is_all_its_lines_and_then_an_error(run: Run) -> None:
    async def fact(place: Place) -> None:
        found: list[int] = []
        async with place.reaching(streaming(3000, 1000, b"")) as transport:
            lines = await lines_of(transport)
            with pytest.raises(UnreachableError):
                await take_slowly(lines, found)
        assert found == list(range(3000))

    run(fact)


def test_leaving_a_flood_ends_it_at_once(run: Run) -> None:
    left = asyncio.Event()

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(CHUNKED)
        try:
            while True:
                writer.write(b"10000\r\n" + bytes(65535) + b"\n\r\n")
                await writer.drain()
        finally:
            left.set()

    async def fact(place: Place) -> None:
        async with place.reaching(flood) as transport:
            lines = await lines_of(transport)
            await anext(lines)
            await asyncio.sleep(0.1)
            async with aclosing(lines):  # type: ignore[type-var]
                await anext(lines)
            await asyncio.wait_for(left.wait(), 30)

    run(fact)


@pytest.mark.parametrize(
    "sent",
    [b"", b"HTTP/1.1 200 OK\r\nContent-Ty", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", CHUNKED + b"9\r\n{"],
    ids=["nothing", "head", "body", "chunk"],
)
def test_who_goes_without_a_word_has_not_answered(run: Run, sent: bytes) -> None:
    async def behaviour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(sent)
        await asyncio.sleep(0.01)

    async def fact(place: Place) -> None:
        async with place.reaching(behaviour) as transport:
            with pytest.raises(UnreachableError):
                await transport.send("GET", "/")

    run(fact)


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers with the path, in two parts with a moment between."""
    while True:
        path = (await reader.readuntil(b"\r\n\r\n")).split()[1]
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(path) + path[:1])
        await asyncio.sleep(0)
        writer.write(path[1:])


def test_a_request_that_is_cancelled_anywhere_leaves_no_answer_to_the_next(run: Run) -> None:
    async def fact(place: Place) -> None:
        async with place.serving(echo) as server:
            pool = Pool(Dialer(server), connections=2, answer_s=5.0)

            def ask(path: str) -> asyncio.Task[bytes]:
                async def asked() -> bytes:
                    return (await pool.ask(f"GET {path} HTTP/1.1\r\n\r\n".encode(), place.trusted))[1]

                return asyncio.ensure_future(asked())

            for turns in range(60):
                doomed = ask(f"/doomed/{turns}")
                for _ in range(turns % 30):
                    await asyncio.sleep(0)
                doomed.cancel()
                wanted = [f"/{turns}/{number}" for number in range(4)]
                assert await asyncio.gather(*map(ask, wanted)) == [each.encode() for each in wanted]
                await asyncio.gather(doomed, return_exceptions=True)
            await pool.close()

    run(fact)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_tunnel_through_a_proxy_carries_every_line(
    loop: Callable[[], asyncio.AbstractEventLoop], started_once: Path, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(started_once / "pki" / "ca.crt"))
    place = Place(started_once / "pki")

    async def fact() -> None:
        shown = place.shown if scheme == "https" else None
        async with place.serving(streaming(6000, 1000, b"0\r\n\r\n")) as server, proxying(Tunnel(), shown) as address:
            through = replace(place.endpoint(server), proxy=f"{scheme}://{address}")
            async with open_transport(through) as transport:
                found: list[int] = []
                await take_slowly(await lines_of(transport), found)
            assert found == list(range(6000))

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(asyncio.wait_for(fact(), 30))


def test_a_loop_may_end_with_everything_open(run: Run) -> None:
    async def fact(place: Place) -> None:
        server = place.serving(streaming(10, 100, b""))
        transport = open_transport(Endpoint(server=await server.__aenter__(), is_verified=False))
        lines = await lines_of(await transport.__aenter__())
        await anext(lines)

    run(fact)
