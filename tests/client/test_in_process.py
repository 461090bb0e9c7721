"""A stream whose reader is in the same process keeps the promises of one on a connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from homeostat.client.in_process import InProcess, LocalStream
from homeostat.edge import turn
from homeostat.edge.reply import Reply, StreamReply
from homeostat.edge.request import Request
from homeostat.edge.stream import Stream, frame


@pytest.mark.parametrize("end", ["close", "abort"])
async def test_callbacks_run_once_and_not_inside_the_call_that_ends_the_stream(end: str) -> None:
    called: list[str] = []
    stream = LocalStream()
    stream.on_close(lambda: called.append("early"))
    getattr(stream, end)()
    getattr(stream, end)()
    stream.on_close(lambda: called.append("late"))
    assert (stream.closed, called) == (True, [])
    await asyncio.sleep(0)
    assert called == ["early", "late"]


async def test_what_is_sent_is_read_in_order_and_nothing_after_the_end() -> None:
    stream = LocalStream()
    stream.send(frame(b"one\n") + frame(b"two\n"))
    stream.send(frame(b"three\n"))
    assert stream.buffered > 0
    stream.close()
    stream.send(frame(b"four\n"))
    assert [line async for line in stream.lines()] == [b"one", b"two", b"three"]
    assert stream.buffered == 0


async def test_a_reader_that_leaves_ends_the_stream() -> None:
    streams: list[Stream] = []

    def answer(_: Request) -> Reply | StreamReply:
        return StreamReply(200, streams.append)

    lines = await InProcess(answer, {}).stream("/watch")
    assert isinstance(lines, AsyncGenerator)
    streams[0].send(frame(b"one\n"))
    assert await anext(lines) == b"one"
    assert not streams[0].closed
    await lines.aclose()
    assert streams[0].closed


async def test_a_caller_that_never_waits_lets_others_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn, "TURN_S", 0.0)
    transport = InProcess(lambda _: Reply(200, b"{}"), {})
    ran = 0

    async def run() -> None:
        nonlocal ran
        while True:
            ran += 1
            await asyncio.sleep(0)

    other = asyncio.create_task(run())
    for _ in range(10):
        assert (await transport.send("GET", "/")).status == 200
    other.cancel()
    assert ran >= 10
