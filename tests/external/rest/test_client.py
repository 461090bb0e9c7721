"""After a failure it is known whether the other side may have acted."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from aiohttp import web

from homeostat.external.rest.breaker import BreakerPolicy
from homeostat.external.rest.client import RestClient
from homeostat.external.rest.errors import NotSentError, ResponseLostError, ResponseTooLargeError
from homeostat.external.rest.request import Request, StreamedBody
from homeostat.external.rest.retry import RetryPolicy
from homeostat.external.rest.settings import RestSettings
from tests.external.servers import hanging_up, serving


def body_of(body: bytes) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=body)

    return answer


async def echo(request: web.Request) -> web.Response:
    body = await request.read()
    return web.Response(status=201, body=body, headers={"X-Method": request.method, "X-Given": request.headers["X-A"]})


async def test_an_answer_comes_whole() -> None:
    async with RestClient() as http, serving(echo) as url:
        answer = await http.send(Request("POST", f"{url}/a", {"X-A": "1"}, b"hello"))
    assert (answer.status, answer.body, answer.is_success) == (201, b"hello", True)
    assert (answer.headers["x-method"], answer.headers["x-given"]) == ("POST", "1")


async def test_a_refused_connection_means_that_nothing_was_sent() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        async with RestClient() as http:
            with pytest.raises(NotSentError, match=f"127.0.0.1:{port}: cannot connect"):
                await http.send(Request("POST", f"http://127.0.0.1:{port}/x"))


async def test_a_truncated_response_leaves_the_outcome_unknown() -> None:
    async with RestClient() as http, hanging_up() as url:
        with pytest.raises(ResponseLostError) as error:
            await http.send(Request("POST", url, body=b"x"))
    assert not isinstance(error.value, NotSentError)


async def test_what_takes_too_long_is_lost() -> None:
    async def slow(_: web.Request) -> web.Response:
        await asyncio.sleep(5)
        return web.Response()

    async with RestClient() as http, serving(slow) as url:
        with pytest.raises(ResponseLostError, match=r"timed out after 0\.1 s"):
            await http.send(Request("GET", url, timeout_s=0.1))


async def test_an_answer_beyond_the_limit_is_not_read() -> None:
    async def large(_: web.Request) -> web.Response:
        return web.Response(body=b"x" * 200_000)

    async with RestClient() as http, serving(large) as url:
        with pytest.raises(ResponseTooLargeError):
            await http.send(Request("GET", url, largest=100_000))


async def test_a_redirect_is_an_answer() -> None:
    async def elsewhere(_: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": "http://elsewhere.example/"})

    async with RestClient() as http, serving(elsewhere) as url:
        answer = await http.send(Request("GET", url))
    assert (answer.status, answer.headers["location"]) == (302, "http://elsewhere.example/")


@pytest.mark.parametrize("url", ["http://user:password@127.0.0.1:1/path", "no-url", "ftp://host/x"])
async def test_an_error_names_the_host_and_nothing_that_may_be_secret(url: str) -> None:
    async with RestClient() as http:
        with pytest.raises(NotSentError) as error:
            await http.send(Request("GET", url))
    assert "password" not in str(error.value)
    assert "path" not in str(error.value)


async def test_an_error_of_another_request_inside_of_a_stream_stays_what_it_is() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        async with RestClient() as http, serving(body_of(b"x")) as url:
            with pytest.raises(NotSentError):
                async with http.stream(Request("GET", url)):
                    await http.send(Request("POST", f"http://127.0.0.1:{taken.getsockname()[1]}/"))


async def test_a_timeout_of_the_caller_inside_of_a_stream_is_not_one_of_the_host() -> None:
    settings = RestSettings(breaker=BreakerPolicy(failures=1))
    async with RestClient(settings) as http, serving(body_of(b"x")) as url:
        with pytest.raises(TimeoutError) as error:
            async with http.stream(Request("GET", url)), asyncio.timeout(0):
                await asyncio.sleep(1)
        assert not isinstance(error.value, ResponseLostError)
        assert (await http.send(Request("GET", url))).body == b"x"


@pytest.mark.parametrize("length", [None, 300_000], ids=["chunked", "with a length"])
async def test_a_streamed_body_arrives_whole_and_is_never_whole_in_memory(length: int | None) -> None:
    received: list[tuple[str | None, bytes]] = []
    produced = 0

    async def chunks() -> AsyncIterator[bytes]:
        nonlocal produced
        for _ in range(3):
            produced += 1
            yield b"x" * 100_000

    async def take(request: web.Request) -> web.Response:
        received.append((request.headers.get("Content-Length"), await request.read()))
        return web.Response()

    async with RestClient() as http, serving(take) as url:
        assert (await http.send(Request("PUT", url, body=StreamedBody(chunks, length)))).status == 200
    assert received == [(None if length is None else "300000", b"x" * 300_000)]
    assert produced == 3


async def test_a_retry_sends_a_streamed_body_from_its_beginning() -> None:
    received: list[bytes] = []

    async def chunks() -> AsyncIterator[bytes]:
        yield b"first "
        yield b"second"

    async def take(request: web.Request) -> web.Response:
        received.append(await request.read())
        return web.Response(status=503 if len(received) == 1 else 200)

    settings = RestSettings(retry=RetryPolicy(attempts=2, first_s=0.01))
    async with RestClient(settings) as http, serving(take) as url:
        assert (await http.send(Request("PUT", url, body=StreamedBody(chunks)))).status == 200
    assert received == [b"first second"] * 2
