"""Whatever a server does, a request ends in time and in memory, and says what may have happened."""

from __future__ import annotations

import asyncio
import gzip
import traceback
import tracemalloc
from collections.abc import Awaitable, Callable

import pytest
from aiohttp import web

from homeostat.external.rest.client import RestClient
from homeostat.external.rest.errors import (
    AddressRefusedError,
    InvalidResponseError,
    NotSentError,
    ResponseLostError,
    ResponseTooLargeError,
    RestError,
)
from homeostat.external.rest.request import Request
from homeostat.external.rest.settings import RestSettings
from tests.external.rest.raw import OK, Names, read_head, reset, speaking
from tests.external.servers import serving

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
FOREVER_S = 60.0


async def never(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_head(reader)
    writer.write(b"HTTP/1.1 200 OK\r\nX-Half: ")
    await asyncio.sleep(FOREVER_S)


async def trickle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_head(reader)
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while True:
        writer.write(b"x")
        await asyncio.sleep(0.02)


async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_head(reader)
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
        await writer.drain()


async def resets(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_head(reader)
    reset(writer)


async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_head(reader)
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
    await writer.drain()


async def long_header(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_head(reader)
    writer.write(b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 100_000 + b"\r\nContent-Length: 0\r\n\r\n")
    await writer.drain()


async def many_headers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_head(reader)
    writer.write(b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: y\r\n" % at for at in range(5000)) + b"\r\n")
    await writer.drain()


async def interim(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_head(reader)
    while True:
        writer.write(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" * 1000)
        await writer.drain()


async def nonsense(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_head(reader)
    writer.write(b"SSH-2.0-OpenSSH_9.2\r\n")
    await writer.drain()


FAULTS = {
    "headers that never end": (never, ResponseLostError, r"timed out after 0\.3 s"),
    "a body byte by byte": (trickle, ResponseLostError, r"timed out after 0\.3 s"),
    "an endless body": (endless, ResponseTooLargeError, "at most 100000 bytes"),
    "a reset": (resets, ResponseLostError, "the connection broke"),
    "half a body": (cut, ResponseLostError, "the connection broke"),
    "a long header": (long_header, ResponseTooLargeError, "header of the response is too long"),
    "many headers": (many_headers, ResponseTooLargeError, "more than 100 headers"),
    "interim responses only": (interim, InvalidResponseError, "only interim responses"),
    "another protocol": (nonsense, InvalidResponseError, "not valid HTTP"),
}


@pytest.mark.parametrize(("fault", "kind", "told"), FAULTS.values(), ids=FAULTS)
async def test_a_server_that_misbehaves_leaves_a_doubt(
    fault: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]], kind: type[RestError], told: str
) -> None:
    async with RestClient() as client, speaking(fault) as host:
        with pytest.raises(kind, match=told) as error:
            await client.send(Request("POST", f"http://{host}/secret-path", body=b"x", timeout_s=0.3, largest=100_000))
    assert not isinstance(error.value, NotSentError)
    assert str(error.value).startswith(f"{host}: ")
    assert "secret-path" not in str(error.value)


async def test_what_is_unpacked_counts_and_not_what_was_sent() -> None:
    packed = gzip.compress(bytes(64 << 20))

    async def bomb(_: web.Request) -> web.Response:
        return web.Response(body=packed, headers={"Content-Encoding": "gzip"})

    async with RestClient() as client, serving(bomb) as url:
        tracemalloc.start()
        try:
            with pytest.raises(ResponseTooLargeError):
                await client.send(Request("GET", url, largest=1 << 20))
            assert tracemalloc.get_traced_memory()[1] < 16 << 20
        finally:
            tracemalloc.stop()


async def test_a_request_that_never_got_a_connection_was_not_sent() -> None:
    async with (
        RestClient(RestSettings(connections_per_host=1)) as client,
        speaking(never) as host,
        asyncio.TaskGroup() as tasks,
    ):
        first = tasks.create_task(client.send(Request("GET", f"http://{host}/", timeout_s=FOREVER_S)))
        await asyncio.sleep(0)
        with pytest.raises(NotSentError, match=r"timed out after 0\.2 s"):
            await client.send(Request("POST", f"http://{host}/", body=b"x", timeout_s=0.2))
        first.cancel()


async def test_no_more_requests_than_allowed_are_at_one_host_at_once() -> None:
    here, most = 0, 0

    async def count(_: web.Request) -> web.Response:
        nonlocal here, most
        here += 1
        most = max(most, here)
        await asyncio.sleep(0.01)
        here -= 1
        return web.Response()

    async with RestClient(RestSettings(connections_per_host=3)) as client, serving(count) as url:
        await asyncio.gather(*(client.send(Request("GET", url)) for _ in range(12)))
    assert most == 3


@pytest.mark.parametrize(
    ("address", "allows_private"),
    [("127.0.0.1", False), ("::1", False), ("169.254.169.254", True), ("::ffff:169.254.169.254", True)],
)
async def test_a_name_that_resolves_to_a_refused_address_is_not_called(address: str, allows_private: bool) -> None:
    names = Names(address)
    async with RestClient(RestSettings(allows_private=allows_private), resolver=names) as client:
        with pytest.raises(AddressRefusedError, match=r"harmless\.example:80: "):
            await client.send(Request("GET", "http://harmless.example:80/", timeout_s=2))
    assert names.asked == ["harmless.example"]


async def test_a_name_that_changes_its_address_after_a_check_gains_nothing() -> None:
    asked: list[str] = []

    async def serve(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.Response(headers={"Connection": "close"})

    async with serving(serve) as url:
        port = url.rpartition(":")[2]
        names = Names("127.0.0.1", "169.254.169.254")
        # Two clients, since one remembers names for some seconds.
        for path, refused in (("first", False), ("second", True)):
            async with RestClient(resolver=names) as client:
                request = Request("GET", f"http://rebinding.example:{port}/{path}", timeout_s=2)
                if refused:
                    with pytest.raises(AddressRefusedError):
                        await client.send(request)
                else:
                    assert (await client.send(request)).status == 200
    assert asked == ["/first"]


@pytest.mark.parametrize("value", ["a\r\nX-Other: b", "a\nb"])
async def test_a_header_that_would_split_the_request_is_not_sent(value: str) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(OK)

    async with RestClient() as client, speaking(answer) as host:
        with pytest.raises(NotSentError, match="control character"):
            await client.send(Request("GET", f"http://{host}/", {"X-Given": value}))


async def test_a_stream_arrives_in_pieces_and_has_the_same_limits() -> None:
    async def large(_: web.Request) -> web.Response:
        return web.Response(body=b"x" * 300_000)

    async with RestClient() as client, serving(large) as url:
        async with client.stream(Request("GET", url)) as response:
            sizes = [len(each) async for each in response.chunks()]
        assert (response.status, sum(sizes)) == (200, 300_000)
        assert len(sizes) > 1
        async with client.stream(Request("GET", url, largest=1000)) as response:
            with pytest.raises(ResponseTooLargeError):
                await response.read()
        async with client.stream(Request("GET", url)) as response:
            pass  # Not read: the connection goes, and the next request gets another.
        assert len((await client.send(Request("GET", url))).body) == 300_000


async def not_http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_head(reader)
    writer.write(b"nonsense\r\n\r\n")


async def test_no_traceback_shows_what_a_url_holds() -> None:
    token = "s3cret"
    async with speaking(not_http) as address, RestClient() as client:
        with pytest.raises(InvalidResponseError) as caught:
            await client.send(Request("GET", f"http://{address}/x?token={token}"))
    assert token not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    "url", ["https://user:s3cret/x@host/", "https://user:s3cret?x@host/", "https://u:s3cret#@host/"]
)
async def test_a_password_that_is_not_quoted_is_not_taken_for_a_port(url: str) -> None:
    async with RestClient() as client:
        with pytest.raises(NotSentError) as caught:
            await client.send(Request("GET", url))
    assert "s3cret" not in "".join(traceback.format_exception(caught.value))
    assert "s3cret" not in repr(Request("GET", url))
