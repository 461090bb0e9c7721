"""Connections that are shared, against a server that counts them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import pytest

from homeostat.client.endpoint.endpoint import Endpoint
from homeostat.client.http import pool as pool_module
from homeostat.client.http.dialer import Dialer, DialError
from homeostat.client.http.pool import Pool
from homeostat.client.http.transport import open_transport
from homeostat.objects.errors import BadRequestError

REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


@dataclass
class Counting:
    connections: int = 0
    requests: int = 0
    is_asked: asyncio.Event = field(default_factory=asyncio.Event)
    is_answering: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                self.requests += 1
                self.is_asked.set()
                await self.is_answering.wait()
                writer.write(OK)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def pooled(
    connections: int, *, answer_s: float = 5.0, is_answering: bool = True
) -> AsyncIterator[tuple[Pool, Counting]]:
    counting = Counting()
    if is_answering:
        counting.is_answering.set()
    server = await asyncio.start_server(counting, "127.0.0.1", 0)
    dialer = Dialer(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    pool = Pool(dialer, connections=connections, answer_s=answer_s)
    try:
        yield pool, counting
    finally:
        await pool.close()
        counting.is_answering.set()
        server.close()
        await asyncio.sleep(0.01)


async def test_a_connection_is_used_again() -> None:
    async with pooled(8) as (pool, counting):
        for _ in range(5):
            head, body = await pool.ask(REQUEST, None)
            assert (head.status, body) == (200, b"{}")
    assert (counting.connections, counting.requests) == (1, 5)


async def test_the_pool_opens_at_most_its_limit_of_connections() -> None:
    async with pooled(3) as (pool, counting):
        await asyncio.gather(*(pool.ask(REQUEST, None) for _ in range(20)))
    assert (counting.connections, counting.requests) == (3, 20)


async def test_a_connection_that_was_idle_for_long_is_not_reused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "_KEPT_S", -1.0)
    async with pooled(8) as (pool, counting):
        await pool.ask(REQUEST, None)
        await pool.ask(REQUEST, None)
    assert counting.connections == 2


async def test_waiting_for_a_response_or_a_connection_times_out() -> None:
    async with pooled(1, answer_s=0.1, is_answering=False) as (pool, counting):
        ends = await asyncio.gather(*(pool.ask(REQUEST, None) for _ in range(3)), return_exceptions=True)
        assert [type(each) for each in ends] == [TimeoutError] * 3
        counting.is_answering.set()
        assert (await pool.ask(REQUEST, None))[1] == b"{}"


async def test_a_cancelled_waiter_does_not_take_a_connection() -> None:
    async with pooled(1, is_answering=False) as (pool, counting):
        asks = [asyncio.create_task(pool.ask(REQUEST, None)) for _ in range(3)]
        await counting.is_asked.wait()
        asks[0].cancel()
        asks[1].cancel()
        counting.is_answering.set()
        assert (await asks[2])[1] == b"{}"
        await asyncio.gather(*asks, return_exceptions=True)


async def test_a_refused_connection_is_an_error_of_its_own() -> None:
    pool = Pool(Dialer("http://127.0.0.1:1"), connections=1, answer_s=1.0)
    for _ in range(2):
        with pytest.raises(DialError, match="Connection refused"):
            await pool.ask(REQUEST, None)


async def test_the_longest_waiting_request_gets_the_next_connection() -> None:
    served: list[int] = []
    async with pooled(1) as (pool, _):

        async def ask(number: int) -> None:
            await pool.ask(REQUEST, None)
            served.append(number)

        await asyncio.gather(*(ask(number) for number in range(40)))
    assert served == list(range(40))


async def test_the_connection_of_a_cancelled_request_is_closed_at_once() -> None:
    is_left = asyncio.Event()

    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await reader.read()
        is_left.set()
        writer.close()

    server = await asyncio.start_server(wait, "127.0.0.1", 0)
    pool = Pool(Dialer(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"), connections=1, answer_s=60.0)
    ask = asyncio.create_task(pool.ask(REQUEST, None))
    await asyncio.sleep(0.05)
    ask.cancel()
    await asyncio.wait_for(is_left.wait(), 30)
    await pool.close()
    server.close()


@pytest.mark.parametrize("turns", range(8))
async def test_closing_the_pool_ends_requests_at_every_stage(turns: int) -> None:
    async with pooled(2, is_answering=False) as (pool, _):
        asks = [asyncio.create_task(pool.ask(REQUEST, None)) for _ in range(4)]
        for _ in range(turns):
            await asyncio.sleep(0)
        await pool.close()
        ends = await asyncio.wait_for(asyncio.gather(*asks, return_exceptions=True), 30)
        assert all(isinstance(each, ConnectionError) for each in ends)


async def test_a_connection_that_was_closed_while_idle_is_not_used_for_the_next() -> None:
    connections = 0

    async def answer_and_go(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer_and_go, "127.0.0.1", 0)
    pool = Pool(Dialer(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"), connections=1, answer_s=5.0)
    for _ in range(20):
        assert (await pool.ask(REQUEST, None))[1] == b"{}"
        await asyncio.sleep(0.005)
    await pool.close()
    server.close()
    assert connections == 20


@pytest.mark.parametrize(
    ("path", "accept"),
    [("/a b", ""), ("/a\r\nX: y", ""), ("a", ""), ("/ä", ""), ("/a", "text/x\r\nX: y")],
)
async def test_a_path_or_header_that_is_not_valid_in_http_is_refused(path: str, accept: str) -> None:
    async with open_transport(Endpoint(server="http://127.0.0.1:1")) as transport:
        with pytest.raises(BadRequestError):
            await transport.send("GET", path, accept=accept)


@pytest.mark.parametrize("method", ["HEAD", "CONNECT", "get", "GET /other HTTP/1.1\r\nX:", ""])
async def test_a_method_that_the_client_does_not_use_is_refused(method: str) -> None:
    async with open_transport(Endpoint(server="http://127.0.0.1:1")) as transport:
        with pytest.raises(BadRequestError):
            await transport.send(method, "/")


@pytest.mark.parametrize(
    "header",
    [("Impersonate-Extra-a\r\nX", "y"), ("Impersonate-Extra-a b", "y"), ("", "y"), ("Impersonate-User", "a\nX: y")],
)
async def test_a_header_that_would_inject_another_is_refused(header: tuple[str, str]) -> None:
    async with open_transport(Endpoint(server="http://127.0.0.1:1", impersonation=(header,))) as transport:
        with pytest.raises(BadRequestError, match="characters that HTTP cannot carry"):
            await transport.send("GET", "/")
        with pytest.raises(BadRequestError, match="characters that HTTP cannot carry"):
            await transport.stream("/")


@pytest.mark.parametrize(
    ("server", "proxy", "host", "prefix"),
    [
        ("https://k8s.example", "", "k8s.example", ""),
        ("https://k8s.example:443/base/", "", "k8s.example", "/base"),
        ("https://[::1]:6443", "", "[::1]:6443", ""),
        ("https://k8s.example:6443", "http://p:1", "k8s.example:6443", ""),
        ("http://k8s.example:8080", "http://p:1", "k8s.example:8080", "http://k8s.example:8080"),
    ],
)
async def test_a_request_names_the_server_as_http_wants_it(server: str, proxy: str, host: str, prefix: str) -> None:
    dialer = Dialer(server, proxy=proxy)
    assert (dialer.host, dialer.prefix) == (host, prefix)
