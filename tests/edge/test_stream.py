"""Streams: what is sent reaches every reader in order, and one that does not read holds up nobody."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.edge.connection.turns import MOST_REQUESTS
from homeostat.edge.reply import Reply, StreamReply
from homeostat.edge.request import Request
from homeostat.edge.server import Limits
from homeostat.edge.stream import PIECE, HttpStream, Stream, frame, produced_by, send_pieces, unframe
from tests.edge.wire import Client, connected, eventually, request, running


class Channel:
    """A handler whose streams are kept, as a watch cache keeps them."""

    def __init__(self) -> None:
        self.streams: list[Stream] = []
        self.ended: list[Stream] = []

    def __call__(self, request: Request) -> Reply | StreamReply:
        return StreamReply(200, self.start) if request.path == "/watch" else Reply(200, b"plain")

    def start(self, stream: Stream) -> None:
        self.streams.append(stream)
        stream.on_close(lambda: self.leave(stream))

    def leave(self, stream: Stream) -> None:
        self.streams.remove(stream)
        self.ended.append(stream)

    def send(self, data: bytes) -> None:
        chunk = frame(data)
        for stream in self.streams:
            stream.send(chunk)


async def watch(client: Client) -> bytes:
    client.send(request("GET", "/watch"))
    return await client.head()


@given(st.lists(st.binary(max_size=40)))
def test_frames_hold_what_was_framed(parts: list[bytes]) -> None:
    assert unframe(b"".join(map(frame, parts))) == b"".join(parts)


def test_a_frame_of_nothing_does_not_end_the_stream() -> None:
    assert frame(b"") == b""


async def test_events_arrive_as_they_are_sent() -> None:
    channel = Channel()
    async with running(channel) as server, connected(server) as client:
        assert b"Transfer-Encoding: chunked" in await watch(client)
        for data in (b"one", b"two", b"x" * 100_000):
            channel.send(data)
            assert await client.chunk() == data


async def test_a_closed_stream_leaves_the_connection_usable() -> None:
    channel = Channel()
    async with running(channel) as server, connected(server) as client:
        await watch(client)
        client.send(request("GET", "/after"))
        channel.send(b"last")
        channel.streams[0].close()
        assert [chunk async for chunk in client.chunks()] == [b"last"]
        assert (await client.answer()).body == b"plain"
        await watch(client)
        assert len(channel.streams) == len(channel.ended) == 1


async def test_a_crowd_of_senders_shares_the_turns_of_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("homeostat.edge.turn.TURN_S", 0.0)
    sent: list[int] = [0]

    class Piece(bytes):
        def __bytes__(self) -> bytes:
            sent[-1] += 1
            return b"x"

    async def send(stream: Stream) -> None:
        await send_pieces(stream, [Piece()] * 10)

    async def count_steps() -> None:
        while sum(sent) < 200:
            sent.append(0)
            await asyncio.sleep(0)

    async with running(lambda _: StreamReply(200, produced_by(send))) as server, AsyncExitStack() as opened:
        clients = [await opened.enter_async_context(connected(server)) for _ in range(20)]
        for client in clients:
            client.send(request("GET", "/"))
        await asyncio.wait_for(count_steps(), 30)
        assert {len([chunk async for chunk in client.chunks()]) for client in clients if await client.head()} == {10}
    assert max(sent) == 1, "pieces in one step of the loop"


async def test_a_stream_closed_as_it_starts_is_an_answer_without_body() -> None:
    empty = StreamReply(200, lambda stream: stream.close())
    async with running(lambda _: empty) as server, connected(server) as client:
        client.send(request() * 2000)
        for _ in range(2000):
            assert (await client.answer()).body == b""


async def test_an_aborted_stream_is_seen_as_broken() -> None:
    channel = Channel()
    async with running(channel) as server, connected(server) as client:
        await watch(client)
        channel.streams[0].abort()
        assert await client.rest() == b""
        await eventually(lambda: channel.ended)


async def test_sending_to_a_closed_stream_does_nothing() -> None:
    channel = Channel()
    async with running(channel) as server, connected(server) as client:
        await watch(client)
        (stream,) = channel.streams
        stream.close()
        stream.close()
        stream.send(frame(b"late"))
        stream.abort()
        assert (stream.closed, stream.buffered) == (True, 0)
        assert [chunk async for chunk in client.chunks()] == []
        assert (await client.get()).body == b"plain"


async def test_callbacks_run_once_and_not_from_inside() -> None:
    calls: list[str] = []
    channel = Channel()
    async with running(channel) as server, connected(server) as client:
        await watch(client)
        (stream,) = channel.streams
        stream.on_close(lambda: calls.append("first"))
        stream.close()
        stream.on_close(lambda: calls.append("late"))
        assert calls == []
        await asyncio.sleep(0.01)
        client.close()
        await eventually(lambda: server.connections == 0)
        assert calls == ["first", "late"]


@pytest.mark.parametrize("goes_away", ["by closing", "by reset"])
async def test_a_reader_that_goes_away_ends_its_stream(goes_away: str) -> None:
    channel = Channel()
    async with running(channel) as server, connected(server) as client:
        await watch(client)
        if goes_away == "by closing":
            client.writer.close()
        else:
            client.close()
        await eventually(lambda: channel.ended)
        assert channel.streams == []
        channel.send(b"to nobody")
        await eventually(lambda: server.connections == 0)


async def test_a_reader_that_stalls_is_cut_off_and_the_others_receive_everything() -> None:
    channel = Channel()
    events = [b"%05d" % n + b"x" * 20_000 for n in range(600)]
    async with running(channel, limits=Limits(stream_bytes=1_000_000)) as server, asyncio.TaskGroup() as readers:

        async def read() -> None:
            async with connected(server) as client:
                await watch(client)
                async with asyncio.timeout(30):
                    assert [chunk async for chunk in client.chunks()] == events

        async with connected(server) as stalled:
            await watch(stalled)
            for _ in range(20):
                readers.create_task(read())
            await eventually(lambda: len(channel.streams) == 21)
            for event in events:
                channel.send(event)
                await asyncio.sleep(0.0005)
                await eventually(lambda: all(stream.buffered < 500_000 for stream in channel.streams[-20:]))
            assert len(channel.streams) == 20
            assert server.counters.cut_off == 1
            for stream in list(channel.streams):
                stream.close()


async def test_one_event_larger_than_the_limit_is_delivered() -> None:
    channel = Channel()
    async with running(channel, limits=Limits(stream_bytes=1000)) as server, connected(server) as client:
        await watch(client)
        channel.send(b"x" * 3_000_000)
        assert len(await client.chunk()) == 3_000_000
        channel.send(b"y")
        assert await client.chunk() == b"y"


async def test_a_sender_of_much_waits_for_its_reader() -> None:
    held: list[int] = []
    tasks: list[asyncio.Task[None]] = []

    async def fill(stream: Stream) -> None:
        for _ in range(300):
            stream.send(frame(b"x" * 100_000))
            held.append(stream.buffered)
            await stream.drain()
        stream.close()

    def handler(request: Request) -> StreamReply:
        return StreamReply(200, lambda stream: tasks.append(asyncio.ensure_future(fill(stream))))

    async with running(handler) as server, connected(server) as client:
        client.send(request())
        await asyncio.sleep(0.05)
        answer = await client.answer()
        assert len(answer.body) == 30_000_000
        assert max(held) < 1_000_000
        await tasks[0]


async def test_a_large_event_for_many_readers_is_written_in_turns() -> None:
    channel = Channel()
    async with running(channel) as server, AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(connected(server)) for _ in range(100)]
        for client in clients:
            await watch(client)
        before = server.counters.bytes_out
        channel.send(b"x" * 1_000_000)
        assert server.counters.bytes_out == before
        await asyncio.sleep(0)
        assert before < server.counters.bytes_out <= before + MOST_REQUESTS * PIECE
        assert [len(await client.chunk()) for client in clients] == [1_000_000] * 100


async def test_waiting_for_a_reader_ends_when_it_goes_away() -> None:
    channel = Channel()
    async with running(channel) as server, connected(server) as client:
        await watch(client)
        (stream,) = channel.streams
        assert isinstance(stream, HttpStream)
        while not stream.is_full:
            stream.send(frame(b"x" * 1_000_000))
            await asyncio.sleep(0)
        waiting = asyncio.ensure_future(stream.drain())
        await asyncio.sleep(0)
        client.close()
        await asyncio.wait_for(waiting, 30)
        assert stream.closed


async def test_http_1_0_gets_the_data_without_frames_and_then_the_end() -> None:
    channel = Channel()
    async with running(channel) as server, connected(server) as client:
        client.send(b"GET /watch HTTP/1.0\r\n\r\n")
        assert b"Transfer-Encoding" not in await client.head()
        channel.send(b"one")
        channel.streams[0].send(frame(b"two") + frame(b"three"))
        channel.streams[0].close()
        assert await client.rest() == b"onetwothree"


async def test_head_starts_no_stream() -> None:
    channel = Channel()
    async with running(channel) as server, connected(server) as client:
        client.send(request("HEAD", "/watch"))
        assert (await client.answer(to_head=True)).status == 200
        assert channel.streams == []
        assert (await client.get()).body == b"plain"


async def test_a_stream_that_fails_to_start_is_cut_off() -> None:
    def start(stream: Stream) -> None:
        raise RuntimeError("no events")

    async with running(lambda _: StreamReply(200, start)) as server, connected(server) as client:
        client.send(request())
        await client.rest()
        assert server.counters.failed == 1
