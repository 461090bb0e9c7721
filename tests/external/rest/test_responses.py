"""A response is received in slices: whole, whatever its framing, and with turns for others in between."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest
from aiohttp.client_proto import ResponseHandler
from aiohttp.streams import StreamReader

from homeostat.edge.responses import _SLICE, PacedConnector, PacedHandler
from homeostat.external.rest.client import RestClient
from homeostat.external.rest.errors import ResponseTooLargeError
from homeostat.external.rest.request import Request
from tests.external.rest.raw import Conversation, read_head, speaking
from tests.holds import measured_turns

HEAD = b"HTTP/1.1 200 OK\r\n"
BODY = bytes(range(256)) * 2000
CHUNKED = b"".join(b"%x\r\n%b\r\n" % (size, BODY[:size]) for size in (1, 7, 65_000)) + b"0\r\n\r\n"
RESPONSES = {
    "a length": (HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY, BODY),
    "until the end of the connection": (HEAD + b"\r\n" + BODY, BODY),
    "chunks": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + CHUNKED, BODY[:1] + BODY[:7] + BODY[:65_000]),
    "interim responses before it": (
        b"HTTP/1.1 103 Early Hints\r\n\r\n" * 3 + HEAD + b"Content-Length: 2\r\n\r\nok",
        b"ok",
    ),
}


def says(sent: bytes) -> Conversation:
    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(sent)
        await writer.drain()

    return converse


@pytest.mark.parametrize("longest_s", [0.005, -1.0], ids=["at once", "a slice a turn"])
@pytest.mark.parametrize(("sent", "body"), RESPONSES.values(), ids=RESPONSES)
async def test_a_response_arrives_whole(
    sent: bytes, body: bytes, longest_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("homeostat.edge.connection.turns.LONGEST_S", longest_s)
    async with RestClient() as client, speaking(says(sent)) as host:
        response = await client.send(Request("GET", f"http://{host}/", timeout_s=20))
    assert (response.status, response.body) == (200, body)


async def test_a_body_of_tiny_chunks_gives_others_their_turn() -> None:
    tiny = HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 200_000
    async with RestClient() as client, speaking(says(tiny)) as host, measured_turns() as turns:
        with pytest.raises(ResponseTooLargeError):
            await client.send(Request("GET", f"http://{host}/", timeout_s=30, largest=150_000))
    assert turns.longest_s < 0.07


async def test_many_responses_of_tiny_chunks_share_the_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("homeostat.edge.connection.turns.LONGEST_S", -1.0)
    loop, slices, most, is_over = asyncio.get_running_loop(), 0, 0, False
    parse = ResponseHandler.data_received

    def counted(handler: ResponseHandler, data: bytes) -> None:
        nonlocal slices
        slices += bool(data)
        parse(handler, data)

    def tick() -> None:
        nonlocal slices, most
        most, slices = max(most, slices), 0
        if not is_over:
            loop.call_soon(tick)

    monkeypatch.setattr(ResponseHandler, "data_received", counted)
    tiny = HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 20_000 + b"0\r\n\r\n"
    async with RestClient() as client, speaking(says(tiny)) as host:
        tick()
        asked = (client.send(Request("GET", f"http://{host}/", timeout_s=30)) for _ in range(12))
        answers = await asyncio.gather(*asked)
    is_over = True
    assert {each.body for each in answers} == {b"x" * 20_000}
    assert most <= 3, "one of those that arrive, and one of those that wait"


async def test_readers_that_go_on_share_the_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("homeostat.edge.connection.turns.LONGEST_S", -1.0)
    loop, pieces, most, is_over = asyncio.get_running_loop(), 0, 0, False
    feed = StreamReader.feed_data

    def counted(reader: StreamReader, data: bytes, size: int = 0) -> bool:
        nonlocal pieces
        pieces += 1
        return feed(reader, data, size)

    def tick() -> None:
        nonlocal pieces, most
        most, pieces = max(most, pieces), 0
        if not is_over:
            loop.call_soon(tick)

    monkeypatch.setattr(StreamReader, "feed_data", counted)
    tiny = HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 60_000 + b"0\r\n\r\n"

    may_read = asyncio.Event()

    async def read(session: aiohttp.ClientSession, host: str) -> int:
        async with session.get(f"http://{host}/") as response:
            await may_read.wait()
            return sum([len(data) async for data in response.content.iter_any()])

    connector = PacedConnector()
    async with aiohttp.ClientSession(connector=connector, read_bufsize=512) as session, speaking(says(tiny)) as host:
        asked = asyncio.gather(*(read(session, host) for _ in range(12)))
        await asyncio.sleep(0.3)  # Meanwhile all buffers are full.
        tick()
        may_read.set()
        assert await asked == [60_000] * 12
    is_over = True
    assert most <= 3 * _SLICE / 6, "as many as three slices have"


async def test_a_response_that_breaks_off_is_read_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("homeostat.edge.connection.turns.LONGEST_S", -1.0)
    handler = PacedHandler(asyncio.get_running_loop())
    handler.connection_made(asyncio.Transport())
    handler.set_response_params(read_bufsize=1 << 20)
    handler.data_received(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 40_000)
    handler.connection_lost(None)
    _, payload = await handler.read()
    assert payload.total_bytes < 2 * _SLICE
    with pytest.raises(aiohttp.ClientPayloadError):
        await payload.read()
    assert payload.total_bytes == 40_000


async def test_bytes_behind_a_response_do_not_answer_the_next_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("homeostat.edge.connection.turns.LONGEST_S", -1.0)
    head = HEAD + b"Content-Length: 16000\r\nX-Fill: "
    first = head + b"x" * (_SLICE - len(head) - 4 - 16_000) + b"\r\n\r\n" + b"1" * 16_000
    forged, second = (HEAD + b"Content-Length: 6\r\n\r\n" + text for text in (b"forged", b"second"))
    heads = 0

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal heads
        while await read_head(reader):
            heads += 1
            writer.write(first + forged if heads == 1 else second)
            await writer.drain()

    async with RestClient() as client, speaking(converse) as host:
        bodies = [(await client.send(Request("GET", f"http://{host}/", timeout_s=20))).body for _ in range(2)]
    assert bodies == [b"1" * 16_000, b"second"]
