"""Stopping: nobody new, the idle at once, the busy within the grace, and nothing left behind."""

from __future__ import annotations

import asyncio

import pytest

from homeostat.edge.reply import Reply, StreamReply
from homeostat.edge.request import Request
from homeostat.edge.server import serve
from homeostat.edge.stream import Stream, frame
from tests.edge.wire import connected, eventually, request


async def after(seconds: float) -> Reply:
    await asyncio.sleep(seconds)
    return Reply(200, b"finished")


def handler(request: Request) -> Reply | asyncio.Future[Reply | StreamReply] | StreamReply:
    match request.path:
        case "/slow":
            return asyncio.ensure_future(after(0.1))
        case "/endless":
            return asyncio.ensure_future(after(60))
        case "/watch":
            return StreamReply(200, lambda stream: stream.send(frame(b"event")))
    return Reply(200)


async def test_nobody_new_is_let_in() -> None:
    server = await serve(handler)
    await server.stop()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", server.port)


async def test_idle_connections_are_closed_at_once() -> None:
    server = await serve(handler)
    async with connected(server) as client:
        await client.get()
        async with asyncio.timeout(30):
            await server.stop(grace_s=60)
        assert await client.rest() == b""


async def test_running_requests_finish_and_their_connections_close() -> None:
    server = await serve(handler)
    async with connected(server) as client:
        client.send(request("GET", "/slow"))
        await eventually(lambda: server.requests == 1)
        await server.stop(grace_s=60)
        answer = await client.answer()
        assert (answer.body, answer.headers["connection"]) == (b"finished", "close")


async def test_a_request_half_received_may_be_completed() -> None:
    server = await serve(handler)
    async with connected(server) as client:
        client.send(b"GET / HTTP/1.1\r\nHo")
        await eventually(lambda: server.counters.bytes_in > 0)
        stopping = asyncio.ensure_future(server.stop(grace_s=60))
        await asyncio.sleep(0.02)
        client.send(b"st: a\r\n\r\n")
        assert (await client.answer()).headers["connection"] == "close"
        await stopping


async def test_streams_end_with_their_last_chunk() -> None:
    server = await serve(handler)
    async with connected(server) as client:
        client.send(request("GET", "/watch"))
        await client.head()
        await server.stop(grace_s=60)
        assert [chunk async for chunk in client.chunks()] == [b"event"]
        assert await client.rest() == b""


async def test_what_outlasts_the_grace_is_cut_off_and_nothing_is_left() -> None:
    server = await serve(handler)
    before = asyncio.all_tasks()
    async with connected(server) as client, connected(server) as stalled:
        client.send(request("GET", "/endless"))
        stalled.send(b"GET / HTTP/1.1\r\n")
        await eventually(lambda: server.requests == 1 and server.connections == 2)
        await server.stop(grace_s=0.1)
        assert await client.rest() == b""
        assert (server.connections, len(server._open)) == (0, 0)
        assert asyncio.all_tasks() == before


async def test_a_reader_that_does_not_read_does_not_hold_up_a_stop() -> None:
    def flood(stream: Stream) -> None:
        stream.send(frame(b"x" * 20_000_000))

    server = await serve(lambda _: StreamReply(200, flood))
    async with connected(server) as client:
        client.send(request())
        await client.head()
        async with asyncio.timeout(30):
            await server.stop(grace_s=0.1)
        assert server.connections == 0


async def test_stopping_twice_is_stopping() -> None:
    server = await serve(handler)
    await server.stop()
    await server.stop()
