"""Every wait for a peer has an end, which trickling does not put off."""

from __future__ import annotations

import asyncio

import pytest

from homeostat.edge.reply import Reply, StreamReply
from homeostat.edge.request import Request
from homeostat.edge.server import Limits
from homeostat.edge.stream import Stream, frame
from tests.edge.wire import connected, eventually, request, running

NEVER = 60.0


def limits(
    *, header: float = NEVER, body: float = NEVER, idle: float = NEVER, stall: float = NEVER, linger: float = 0.05
) -> Limits:
    return Limits(
        header_timeout_s=header, body_timeout_s=body, idle_timeout_s=idle, stall_timeout_s=stall, linger_s=linger
    )


def ok(request: Request) -> Reply:
    return Reply(200)


POST = b"POST / HTTP/1.1\r\nHost: a\r\n"
SLOW = {
    "headers": (limits(header=0.08), b"GET / HTTP/1.1\r\nHost: a\r\nX: ", b"a"),
    "request line": (limits(header=0.08), b"GET /", b"a"),
    "blank lines": (limits(header=0.08), b"\r\n", b"\r\n"),
    "nothing more": (limits(header=0.08), b"GE", b""),
    "body": (limits(body=0.08), POST + b"Content-Length: 1000\r\n\r\n", b"a"),
    "chunks": (limits(body=0.08), POST + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n"),
    "second request": (limits(header=0.08), request("HEAD") + b"GET / HTTP/1.1\r\nX: ", b"a"),
}


@pytest.mark.parametrize(("limits", "data", "more"), SLOW.values(), ids=SLOW.keys())
async def test_a_request_that_trickles_in_is_refused_in_time(limits: Limits, data: bytes, more: bytes) -> None:
    async with running(ok, limits=limits) as server, connected(server) as client:
        client.send(data)
        async with asyncio.timeout(30):
            while server.counters.refused == 0:
                await asyncio.sleep(0.01)
                client.send(more)
        if data.startswith(b"HEAD"):
            assert (await client.answer()).status == 200
        assert (await client.answer()).status == 408
        await eventually(lambda: server.connections == 0)


async def test_an_idle_connection_is_closed() -> None:
    async with running(ok, limits=limits(idle=0.1)) as server, connected(server) as client:
        await client.get()
        assert await client.rest() == b""


async def test_a_connection_in_use_is_not_idle() -> None:
    async with running(ok, limits=limits(idle=1.0)) as server, connected(server) as client:
        for _ in range(6):
            await asyncio.sleep(0.2)
            assert (await client.get()).status == 200


async def test_work_and_streams_take_as_long_as_they_take() -> None:
    async def slow(request: Request) -> Reply | StreamReply:
        await asyncio.sleep(0.7)
        return Reply(200) if request.path == "/work" else StreamReply(200, lambda stream: None)

    short = limits(header=0.5, body=0.5, idle=0.5, stall=0.5)
    async with running(slow, limits=short) as server, connected(server) as one, connected(server) as two:
        one.send(request("GET", "/stream"))
        assert (await two.get("/work")).status == 200
        await one.head()
        await asyncio.sleep(0.7)
        assert server.connections == 1


async def test_a_reader_that_takes_nothing_of_a_large_body_is_cut_off() -> None:
    body = b"x" * 30_000_000
    async with running(lambda _: Reply(200, body), limits=limits(stall=0.15)) as server, connected(server) as client:
        client.send(request())
        await client.head()
        await eventually(lambda: server.connections == 0)
        assert server.counters.cut_off == 1


async def test_a_slow_reader_that_continues_to_read_gets_all() -> None:
    body = b"x" * 20_000_000
    async with running(lambda _: Reply(200, body), limits=limits(stall=1.0)) as server, connected(server) as client:
        client.send(request())
        await client.head()
        for _ in range(10):
            assert await client.reader.readexactly(2_000_000)
            await asyncio.sleep(0.12)
        assert server.counters.cut_off == 0


async def test_a_stream_nobody_reads_is_cut_off_in_time_even_if_little_waits() -> None:
    def start(stream: Stream) -> None:
        for _ in range(8):
            stream.send(frame(b"x" * 1_000_000))

    handler = StreamReply(200, start)
    async with running(lambda _: handler, limits=limits(stall=0.15)) as server, connected(server) as client:
        client.send(request())
        await client.head()
        await eventually(lambda: server.connections == 0)


async def test_a_refused_peer_that_stays_is_cut_off() -> None:
    async with running(ok, limits=limits(linger=0.1)) as server, connected(server) as client:
        client.send(b"nonsense\r\n\r\n")
        assert (await client.answer()).status == 501
        await eventually(lambda: server.connections == 0)


async def test_a_peer_that_does_not_take_its_last_answer_is_cut_off() -> None:
    body = b"x" * 30_000_000
    async with running(lambda _: Reply(200, body), limits=limits(stall=0.15)) as server, connected(server) as client:
        client.send(request("GET", "/", "Connection: close"))
        client.writer.write_eof()
        await eventually(lambda: server.connections == 0)
