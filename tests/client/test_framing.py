"""An answer is what was sent, wherever it is cut into pieces, and is an error wherever it is cut off."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.client.http import connection as connection_module
from homeostat.client.http.connection import Connection
from homeostat.client.http.lines import split_lines
from tests.client.wire import CHUNKED, OK, REQUEST, Wire
from tests.examples import examples


class Answer(NamedTuple):
    sent: bytes
    body: bytes
    status: int = 200
    is_open_ended: bool = False


ANSWERS = {
    "of a length": Answer(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b\r\n\r\nhello", b"hello"),
    "of no length": Answer(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b""),
    "chunked": Answer(CHUNKED + b"3\r\nhel\r\n0002\r\nlo\r\n0\r\n\r\n", b"hello"),
    "chunks with extensions": Answer(CHUNKED + b'3;a=b\r\nhel\r\n2;c="d"\r\nlo\r\n0;e\r\n\r\n', b"hello"),
    "chunks and trailers": Answer(CHUNKED + b"5\r\nhello\r\n0\r\nRetry-After: 9\r\nX-T: 1\r\n\r\n", b"hello"),
    "after interim answers": Answer(
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nRetry-After: 9\r\n\r\n" + OK, b"{}"
    ),
    "without content": Answer(b"HTTP/1.1 204 No Content\r\n\r\n", b"", 204),
    "not modified, of a length": Answer(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", b"", 304),
    "of the old protocol": Answer(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}", b"{}"),
    "that ends with the connection": Answer(b"HTTP/1.1 200 OK\r\n\r\nhello", b"hello", is_open_ended=True),
}
each_answer = pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS.keys())


async def read(*pieces: bytes, ends: bool = False, is_stream: bool = False) -> tuple[int, str | None, bytes]:
    """The status, the Retry-After header and the body of an answer that comes in these pieces."""
    wire = Wire()
    asked = asyncio.ensure_future(_streamed(wire.connection) if is_stream else _whole(wire.connection))
    for piece in pieces:
        await asyncio.sleep(0)
        wire.say(piece)
    if ends:
        await asyncio.sleep(0)
        wire.lose()
    try:
        return await asyncio.wait_for(asked, 30)
    finally:
        await wire.connection.close()


async def _whole(connection: Connection) -> tuple[int, str | None, bytes]:
    head, body = await connection.ask(REQUEST)
    return head.status, head.get(b"retry-after"), body


async def _streamed(connection: Connection) -> tuple[int, str | None, bytes]:
    head = await connection.open(REQUEST)
    body = await connection.rest(1000)
    return head.status, head.get(b"retry-after"), body


@pytest.mark.parametrize("is_stream", [False, True], ids=["whole", "streamed"])
@each_answer
async def test_an_answer_reads_the_same_wherever_it_is_cut(answer: Answer, is_stream: bool) -> None:
    sent, ends = answer.sent, answer.is_open_ended
    for at in range(len(sent)):
        assert await read(sent[:at], sent[at:], ends=ends, is_stream=is_stream) == (answer.status, None, answer.body)
    letters = [sent[at : at + 1] for at in range(len(sent))]
    assert await read(*letters, ends=ends, is_stream=is_stream) == (answer.status, None, answer.body)


@pytest.mark.parametrize("is_stream", [False, True], ids=["whole", "streamed"])
@each_answer
async def test_an_answer_that_is_cut_off_anywhere_is_an_error(answer: Answer, is_stream: bool) -> None:
    head_ends = answer.sent.index(b"\r\n\r\n") + 4
    for at in range(head_ends if answer.is_open_ended else len(answer.sent)):
        with pytest.raises(ConnectionError):
            await read(answer.sent[:at], ends=True, is_stream=is_stream)


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n", id="two lengths"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", id="twice"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n{}", id="less than nothing"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n{}", id="more than there is"),
        pytest.param(b"HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n", id="a folded header"),
        pytest.param(b"HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n", id="a header with a zero"),
        pytest.param(b"HTTP/1.1 200 OK\nContent-Length: 2\n\n{}", id="bare line feeds"),
        pytest.param(b"HTTP/1.1 099 Odd\r\nContent-Length: 2\r\n\r\n{}" + OK, id="a status below any"),
        pytest.param(b"HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", id="another protocol"),
        pytest.param(CHUNKED + b"zz\r\n", id="a chunk of no size"),
        pytest.param(CHUNKED + b"2\r\n{}!!", id="a chunk that goes on"),
        pytest.param(CHUNKED + b"fffffffffffffffff\r\n", id="a chunk beyond counting"),
        pytest.param(b"\x15\x03\x01\x00\x02\x02\x16", id="an alert of TLS"),
        pytest.param(b"SSH-2.0-x\r\n", id="another server"),
    ],
)
async def test_what_is_not_http_is_an_error_at_once(sent: bytes) -> None:
    with pytest.raises(ConnectionError, match="not HTTP"):
        await read(sent)


@pytest.mark.parametrize("extra", [OK, b"x", b"HTTP/1.1 408 Request Timeout\r\n\r\n"], ids=["answer", "noise", "408"])
async def test_an_answer_that_nobody_asked_for_is_never_taken_for_one(extra: bytes) -> None:
    wire = Wire()
    asked = asyncio.ensure_future(wire.connection.ask(REQUEST))
    await asyncio.sleep(0)
    wire.say(OK + extra)
    assert (await asked)[1] == b"{}"
    assert not wire.connection.is_reusable
    with pytest.raises(ConnectionError):
        await wire.connection.ask(REQUEST)


async def test_what_comes_while_nothing_is_asked_ends_the_connection() -> None:
    wire = Wire()
    wire.say(OK)
    assert not wire.connection.is_reusable


async def test_a_connection_that_is_being_closed_is_not_used_again() -> None:
    wire = Wire()
    assert wire.connection.is_reusable
    wire.begin_closing()
    assert not wire.connection.is_reusable


async def test_a_reader_that_takes_long_is_not_the_silence_of_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "_MOST_WAITING", 0)
    wire = Wire()
    opened = asyncio.ensure_future(wire.connection.open(REQUEST))
    await asyncio.sleep(0)
    wire.say(CHUNKED, b"2\r\na\n\r\n")
    wire.say(b"2\r\nb\n\r\n")
    await opened
    with wire.connection.given_up_after(0.05):
        pieces = wire.connection.pieces()
        for wanted in (b"a\n", b"b\n"):
            await asyncio.sleep(0.2)
            assert await anext(pieces) == wanted
        with pytest.raises(TimeoutError):
            await anext(pieces)


async def test_an_answer_that_came_too_late_for_its_asker_is_not_the_next_ones() -> None:
    wire = Wire()
    asked = asyncio.ensure_future(wire.connection.ask(REQUEST))
    await asyncio.sleep(0)
    wire.say(OK)
    asked.cancel()
    await asyncio.gather(asked, return_exceptions=True)
    assert wire.connection.is_reusable
    again = asyncio.ensure_future(wire.connection.ask(REQUEST))
    await asyncio.sleep(0)
    wire.say(b"HTTP/1.1 404 Not Found\r\nContent-Length: 1\r\n\r\n!")
    head, body = await again
    assert (head.status, body) == (404, b"!")


@pytest.mark.parametrize(
    ("first", "again"),
    [
        pytest.param(b"HTTP/1.1 200 OK\r\nX: ", b"x" * 1000, id="a header"),
        pytest.param(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 200, id="headers"),
        pytest.param(b"", b"HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n" * 30, id="interim answers"),
        pytest.param(CHUNKED + b"1;", b"x" * 1000, id="the extension of a chunk"),
        pytest.param(CHUNKED + b"0\r\nX: ", b"x" * 1000, id="a trailer"),
        pytest.param(CHUNKED + b"0\r\n", b"X: y\r\n" * 200, id="trailers"),
        pytest.param(b"", b"\r\n" * 500, id="line breaks"),
    ],
)
@pytest.mark.parametrize("is_stream", [False, True], ids=["whole", "streamed"])
async def test_what_never_comes_to_the_point_is_given_up(first: bytes, again: bytes, is_stream: bool) -> None:
    with pytest.raises(ConnectionError, match="more than"):
        await read(first, *[again] * 300, is_stream=is_stream)


async def test_an_answer_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "_MOST_WHOLE", 3)
    with pytest.raises(ConnectionError, match="more than 3 bytes"):
        await read(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", b"hell")
    with pytest.raises(ConnectionError, match="more than 1000 bytes"):
        await read(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 5000\r\n\r\n", b"x" * 2000, is_stream=True)


async def test_a_line_does_not_fill_the_memory() -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for piece in (b"one\ntwo", b"\nsix", b"teen", b"\n"):
            yield piece

    assert [line async for line in split_lines(pieces(), most=7)] == [b"one", b"two", b"sixteen"]
    lines = split_lines(pieces(), most=6)
    assert [await anext(lines), await anext(lines)] == [b"one", b"two"]
    with pytest.raises(ConnectionError, match="more than 6 bytes"):
        await anext(lines)


async def test_headers_of_one_name_are_joined_and_trailers_are_not_headers() -> None:
    wire = Wire()
    asked = asyncio.ensure_future(wire.connection.ask(REQUEST))
    await asyncio.sleep(0)
    wire.say(b"HTTP/1.1 200 OK\r\nX-A: b\r\nTransfer-Encoding: chunked\r\nx-a: c\r\n\r\n0\r\nX-A: d\r\n\r\n")
    head, _ = await asked
    assert head.get(b"x-a") == "b, c"


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[bytes], bytes, list[int]]:
    """Lines, the bytes of a chunked answer of them, and where those are cut."""
    letters = st.binary(max_size=40).map(lambda text: text.replace(b"\n", b"~"))
    lines = draw(st.lists(letters, max_size=12))
    body = b"".join(line + b"\n" for line in lines)
    framed, at = CHUNKED, 0
    while at < len(body):
        size = draw(st.integers(1, 50))
        piece = body[at : at + size]
        framed += b"%x%b\r\n%b\r\n" % (len(piece), draw(st.sampled_from([b"", b";a=b", b";c"])), piece)
        at += size
    framed += draw(st.sampled_from([b"0\r\n\r\n", b"0\r\nX-T: y\r\n\r\n"]))
    cuts = draw(st.lists(st.integers(0, len(framed)), max_size=12).map(sorted))
    return [line for line in lines if line], framed, cuts


async def _slowly(pieces: AsyncIterator[bytes], turns: int) -> AsyncIterator[bytes]:
    async for piece in pieces:
        for _ in range(turns):
            await asyncio.sleep(0)
        yield piece


@examples(300)
@given(stream=streams(), most_waiting=st.integers(0, 60), turns=st.integers(0, 3), gap=st.integers(0, 2))
def test_every_line_is_read_once_and_in_order_whatever_the_pieces(
    stream: tuple[list[bytes], bytes, list[int]], most_waiting: int, turns: int, gap: int
) -> None:
    lines, framed, cuts = stream

    async def followed() -> list[bytes]:
        wire = Wire()
        opened = asyncio.ensure_future(wire.connection.open(REQUEST))

        async def speak() -> None:
            await asyncio.sleep(0)
            for first, last in zip([0, *cuts], [*cuts, len(framed)], strict=True):
                wire.say(framed[first:last])
                for _ in range(gap):
                    await asyncio.sleep(0)
            wire.lose()

        speaking = asyncio.ensure_future(speak())
        await opened
        pieces = _slowly(wire.connection.pieces(), turns)
        found = [line async for line in split_lines(pieces)]
        await speaking
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connection_module, "_MOST_WAITING", most_waiting)
        assert asyncio.run(asyncio.wait_for(followed(), 30)) == lines
