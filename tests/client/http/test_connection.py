"""One connection, against a server that says exactly what the test wants."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from homeostat.client.http.connection import Connection
from homeostat.client.http.dialer import Dialer

REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
Behaviour = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def connected(behaviour: Behaviour) -> AsyncIterator[Connection]:
    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await behaviour(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(served, "127.0.0.1", 0)
    connection = await Dialer(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}").dial(None)
    try:
        yield connection
    finally:
        await connection.close()
        server.close()
        await asyncio.sleep(0.01)


def saying(*answers: bytes, then_closes: bool = False) -> Behaviour:
    async def behaviour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for answer in answers:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
        if not then_closes:
            await reader.read()

    return behaviour


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        pytest.param(OK, b"{}", id="of a length"),
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", b"{}", id="chunked"),
        pytest.param(b"HTTP/1.1 204 No Content\r\n\r\n", b"", id="none"),
        pytest.param(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + OK, b"{}", id="after an interim one"),
    ],
)
async def test_an_answer_is_read_and_the_connection_is_used_again(answer: bytes, body: bytes) -> None:
    async with connected(saying(answer, answer)) as connection:
        for _ in range(2):
            head, found = await connection.ask(REQUEST)
            assert (head.status // 100, found, head.get(b"link")) == (2, body, None)
            assert connection.is_reusable


async def test_a_body_without_a_length_ends_with_the_connection() -> None:
    async with connected(saying(b"HTTP/1.1 200 OK\r\n\r\n{}", then_closes=True)) as connection:
        _, body = await connection.ask(REQUEST)
        assert body == b"{}"
        assert not connection.is_reusable


async def test_a_server_that_says_it_closes_is_not_asked_again() -> None:
    answer = OK.replace(b"OK\r\n", b"OK\r\nConnection: close\r\n")
    async with connected(saying(answer)) as connection:
        await connection.ask(REQUEST)
        assert not connection.is_reusable


async def test_a_server_that_speaks_out_of_turn_is_not_listened_to_again() -> None:
    async with connected(saying(OK + OK)) as connection:
        assert (await connection.ask(REQUEST))[1] == b"{}"
        assert not connection.is_reusable
        with pytest.raises(ConnectionError):
            await connection.ask(REQUEST)


@pytest.mark.parametrize(
    "cut", [b"", b"HTTP/1.1 200", OK[:-1], b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"]
)
async def test_an_answer_that_is_cut_off_is_an_error_and_never_a_short_body(cut: bytes) -> None:
    async with connected(saying(cut, then_closes=True)) as connection:
        with pytest.raises(ConnectionError):
            await connection.ask(REQUEST)


async def test_what_is_read_faster_than_it_is_taken_stops_the_reading() -> None:
    sent = 0

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(bytes(1 << 16))
            await writer.drain()
            sent += 1 << 16

    async with connected(flood) as connection:
        await connection.open(REQUEST)
        before = -1
        while sent != before:
            before = sent
            await asyncio.sleep(0.1)
        assert sent < 1 << 25
        pieces = connection.pieces()
        for _ in range(100):
            await anext(pieces)
        assert sent > before


async def test_who_falls_silent_is_given_up_and_who_speaks_is_not() -> None:
    async def dripping(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        for _ in range(9):
            writer.write(b"x")
            await asyncio.sleep(0.1)
        await reader.read()

    async with connected(dripping) as connection:
        found = b""
        with connection.given_up_after(0.7):
            await connection.open(REQUEST)
            pieces = connection.pieces()
            while len(found) < 9:
                found += await anext(pieces)
            with pytest.raises(TimeoutError):
                await anext(pieces)
