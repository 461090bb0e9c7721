"""What waits for clients that do not read: little for each, bounded for all, and not for ever."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from itertools import pairwise
from typing import Any

import pytest

from homeostat.edge.connection import turns
from homeostat.edge.connection.memory import Bodies
from homeostat.edge.items import Items, pieces_of
from homeostat.edge.reply import Reply, StreamReply
from homeostat.edge.server import Handler, Limits
from homeostat.edge.stream import Stream, frame, produced_by, send_pieces
from tests.edge.tls.authority import Authority
from tests.edge.wire import connected, eventually, request, running

LARGE = b"x" * 1_000_000


async def many(stream: Stream) -> None:
    await send_pieces(stream, pieces_of([LARGE] * 40))


def produced(produce: Callable[[Stream], Coroutine[Any, Any, None]]) -> Handler:
    large = StreamReply(200, produced_by(produce), is_finite=True)
    return lambda request: large if request.path == "/" else Reply(200)


async def test_a_produced_response_is_sent_as_the_client_reads() -> None:
    async with (
        running(produced(many)) as server,
        connected(server) as client,
    ):
        client.send(request())
        await client.head()
        await asyncio.sleep(0.2)
        assert server.counters.bytes_out < 20_000_000
        size = 0
        while chunk := await client.chunk():
            size += len(chunk)
        assert size == 40 * len(LARGE)
        assert (await client.get("/next")).status == 200


async def test_a_produced_response_that_fails_is_incomplete_and_logged() -> None:
    async def fail(stream: Stream) -> None:
        await send_pieces(stream, [b"begun"])
        raise ValueError("no more")

    async with (
        running(produced(fail)) as server,
        connected(server) as client,
    ):
        client.send(request())
        assert not (await client.rest()).endswith(b"0\r\n\r\n")


async def test_producing_ends_when_the_client_is_gone() -> None:
    is_over = asyncio.Event()

    async def produce(stream: Stream) -> None:
        try:
            await many(stream)
        finally:
            is_over.set()

    async with running(produced(produce)) as server:
        async with connected(server) as client:
            client.send(request())
            await client.head()
        async with asyncio.timeout(30):
            await is_over.wait()


async def test_a_server_that_stops_lets_a_produced_response_finish() -> None:
    gate = asyncio.Event()

    async def produce(stream: Stream) -> None:
        await send_pieces(stream, [b"begun"])
        await gate.wait()
        await send_pieces(stream, [b"finished"])

    async with (
        running(produced(produce)) as server,
        connected(server) as client,
    ):
        client.send(request())
        await client.head()
        assert await client.chunk() == b"begun"
        stopping = asyncio.create_task(server.stop(grace_s=5))
        await asyncio.sleep(0)
        gate.set()
        assert await client.rest() == b"8\r\nfinished\r\n0\r\n\r\n"
        await stopping


async def test_one_large_event_that_nobody_reads_is_noticed_under_tls(authority: Authority) -> None:
    streams: list[Stream] = []
    limits = Limits(stall_timeout_s=0.2)
    async with (
        running(lambda _: StreamReply(200, streams.append), limits=limits, tls=authority.server) as server,
        connected(server, tls=authority.client(), read_limit=1) as client,
    ):
        client.send(request())
        await eventually(lambda: streams)
        streams[0].send(frame(LARGE * 20))
        await eventually(lambda: server.counters.cut_off)
        await eventually(lambda: streams[0].closed)


async def test_the_client_with_the_most_unread_bytes_is_closed_when_all_together_have_too_many() -> None:
    streams: list[Stream] = []
    limits = Limits(unread_bytes=30_000_000, stream_bytes=100_000_000)
    async with running(lambda _: StreamReply(200, streams.append), limits=limits) as server, AsyncExitStack() as stack:
        for _ in range(4):
            client = await stack.enter_async_context(connected(server, read_limit=1))
            client.send(request())
        await eventually(lambda: len(streams) == 4)
        for _ in range(12):
            streams[0].send(frame(LARGE))
        for _ in range(6):
            for stream in streams[1:]:
                stream.send(frame(LARGE))
        await eventually(lambda: server.counters.cut_off == 0)
        for _ in range(30):
            streams[0].send(frame(LARGE))
        await eventually(lambda: streams[0].closed)
        assert [stream.closed for stream in streams] == [True, False, False, False]


async def test_large_bodies_that_nobody_reads_count_as_unread() -> None:
    limits = Limits(unread_bytes=100_000_000)

    def handler(_: object) -> Reply:
        return Reply(200, bytes(30_000_000))

    async with running(handler, limits=limits) as server, AsyncExitStack() as stack:
        for _ in range(6):
            client = await stack.enter_async_context(connected(server, read_limit=1))
            client.send(request())
        await eventually(lambda: server.counters.cut_off >= 3)
        await eventually(lambda: server.connections == 3)


async def test_a_large_body_is_written_over_many_turns_of_the_loop(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However fast its client reads."""
    monkeypatch.setattr(turns, "LONGEST_S", 0.0)
    loop, sent, is_over = asyncio.get_running_loop(), [0], False

    def read_all(port: int) -> int:
        raw = socket.create_connection(("127.0.0.1", port))
        with authority.client().wrap_socket(raw, server_hostname="localhost") as client:
            client.sendall(request())
            size = 0
            while size < 40 * len(LARGE):
                size += len(client.recv(1 << 20))
            return size

    async with running(lambda _: Reply(200, Items(b"", [LARGE] * 40, b"")), tls=authority.server) as server:

        def tick() -> None:
            sent.append(server.counters.bytes_out)
            if not is_over:
                loop.call_soon(tick)

        tick()
        assert await asyncio.to_thread(read_all, server.port) >= 40 * len(LARGE)
        is_over = True
    assert max(after - before for before, after in pairwise(sent)) < 2_500_000


class _Upload:
    """A connection that sends a body."""

    is_refused = False

    def refuse_upload(self) -> None:
        self.is_refused = True


def test_the_bodies_of_one_client_that_are_being_answered_leave_room_for_those_of_others() -> None:
    bodies, sent = Bodies(100), list[_Upload]()

    def send(client: str, size: int) -> bool:
        upload = _Upload()
        for arrived in (size // 2, size):
            if not upload.is_refused:
                bodies.receive(upload, client, arrived)
        if not upload.is_refused:
            bodies.answer(upload, client, size)
            sent.append(upload)
        return not upload.is_refused

    assert [send("a", 10) for _ in range(7)] == [True] * 5 + [False] * 2
    assert [send("b", 10) for _ in range(4)] == [True] * 3 + [False]
    assert send("c", 10)
    for upload in sent:
        bodies.discard(upload)
    assert (bodies.total, send("b", 50)) == (0, True)
