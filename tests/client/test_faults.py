"""A client and a server on a bad day: refusals, broken connections, silence, over real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any

import msgspec
import pytest

from homeostat.client import in_process
from homeostat.client.base import Client, UnreachableError
from homeostat.client.endpoint.endpoint import Endpoint, KubeconfigError
from homeostat.client.http import dialer
from homeostat.client.http.proxies import proxy_of
from homeostat.client.http.retries import Patience, Retrying
from homeostat.client.http.transport import open_transport
from homeostat.client.projection import Changed, Projection
from homeostat.edge.stream import frame
from homeostat.objects.errors import ExpiredError, TooManyRequestsError, UnavailableError
from homeostat.objects.kind import POD

Behaviour = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Named(msgspec.Struct, frozen=True):
    name: str


class Pod(msgspec.Struct, frozen=True):
    metadata: Named


def answer(body: bytes, *, status: str = "200 OK", length: int | None = None, headers: str = "") -> bytes:
    size = len(body) if length is None else length
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {size}\r\n{headers}\r\n"
    return head.encode() + body


def chunked(*lines: bytes) -> bytes:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"".join(b"%x\r\n%b\r\n" % (len(line), line) for line in lines)


class Faulty:
    """A server that answers its first requests as told, one connection each, and then hangs up."""

    def __init__(self, *answers: bytes) -> None:
        self._answers = list(answers)
        self.seen: list[bytes] = []
        self.holds_last = False

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await reader.readuntil(b"\r\n\r\n")
            self.seen.append(request.split(b"\r\n")[0])
            if self._answers:
                writer.write(self._answers.pop(0))
                await writer.drain()
            if self.holds_last and not self._answers:
                await reader.read()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def served(behaviour: Behaviour, **options: Any) -> AsyncIterator[Client]:
    server = await asyncio.start_server(behaviour, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        async with open_transport(Endpoint(server=f"http://127.0.0.1:{port}"), **options) as transport:
            yield Client(Retrying(transport, Patience(attempts=3, first_s=0.001)))
    finally:
        server.close()


GOOD = answer(b'{"ok":true}')


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(answer(b"{}", status="429 Too Many Requests", headers="Retry-After: 0\r\n"), id="429"),
        pytest.param(answer(b"{}", status="503 Service Unavailable"), id="503"),
        pytest.param(b"", id="closed without an answer"),
        pytest.param(b"HTTP/1.1 200 OK\r\nConte", id="closed in the head"),
        pytest.param(answer(b'{"ok"', length=11), id="closed in the body"),
        pytest.param(b"nonsense\r\n\r\n", id="not HTTP"),
    ],
)
async def test_a_read_outlives_a_fault(first: bytes) -> None:
    server = Faulty(first, GOOD)
    async with served(server) as client:
        assert await client.get("/x") == {"ok": True}
    assert len(server.seen) >= 2


@pytest.mark.parametrize("first", [b"", answer(b'{"ok"', length=11)])
async def test_a_write_that_may_have_been_done_is_not_done_again(first: bytes) -> None:
    server = Faulty(first, GOOD)
    async with served(server) as client:
        with pytest.raises(UnreachableError):
            await client.create("/x", {})
    assert server.seen == [b"POST /x HTTP/1.1"]


async def test_a_refusal_that_lasts_is_its_error_with_the_wait_it_asks_for() -> None:
    refusal = answer(b"busy", status="503 Service Unavailable", headers="Retry-After: 600\r\n")
    async with served(Faulty(refusal)) as client:
        with pytest.raises(UnavailableError, match="busy") as caught:
            await client.get("/x")
    assert caught.value.retry_after_s == 600


async def test_an_answer_that_never_ends_is_given_up() -> None:
    server = Faulty(answer(b'{"ok"', length=11), answer(b"{", length=2), answer(b"{", length=2))
    server.holds_last = True
    async with served(server, answer_s=0.2) as client:
        with pytest.raises(UnreachableError):
            await client.get("/x")


async def test_a_watch_that_is_cut_gives_whole_events_and_then_an_error() -> None:
    event = b'{"type":"ADDED","object":{"metadata":{"name":"a"}}}\n'
    server = Faulty(chunked(event, event[:20]))
    async with served(server) as client:
        events = Projection(client, POD, Pod).watch()
        assert await anext(events) == Changed("ADDED", Pod(Named("a")))
        with pytest.raises(UnreachableError):
            await anext(events)


async def test_a_silent_watch_is_given_up() -> None:
    server = Faulty(chunked(b'{"type":"ADDED","object":{"metadata":{"name":"a"}}}\n'))
    server.holds_last = True
    async with served(server, silence_s=0.1) as client:
        events = Projection(client, POD, Pod).watch()
        await anext(events)
        with pytest.raises(UnreachableError, match="no answer in time"):
            await anext(events)


async def test_leaving_a_watch_ends_it_at_once() -> None:
    ended = asyncio.Event()

    async def behaviour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(chunked(b'{"type":"ADDED","object":{"metadata":{"name":"a"}}}\n'))
        await reader.read()
        ended.set()
        writer.close()

    async with served(behaviour) as client:
        async with aclosing(Projection(client, POD, Pod).watch()) as events:
            await anext(events)
        await asyncio.wait_for(ended.wait(), 30)


@pytest.mark.parametrize(
    ("sent", "error"),
    [
        (chunked(b'{"type":"ERROR","object":{"code":410,"reason":"Expired","message":"old"}}\n'), ExpiredError),
        (answer(b'{"code":410,"reason":"Expired"}', status="410 Gone"), ExpiredError),
        (answer(b"{}", status="429 Too Many Requests", headers="Retry-After: 5\r\n"), TooManyRequestsError),
        (chunked(b"nonsense\n"), UnreachableError),
    ],
)
async def test_a_watch_raises_an_error_of_the_tree(sent: bytes, error: type[Exception]) -> None:
    async with served(Faulty(sent)) as client:
        with pytest.raises(error):
            await anext(Projection(client, POD, Pod).watch())


async def test_an_answer_that_is_not_json_is_reported() -> None:
    async with served(Faulty(answer(b"{nonsense"))) as client:
        with pytest.raises(UnreachableError, match="not JSON"):
            await client.get("/x")


async def test_requests_wait_for_their_turn_and_watches_do_not_take_it() -> None:
    open_now = most = 0

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal open_now, most
        is_watch = b"watch=true" in await reader.readuntil(b"\r\n\r\n")
        if is_watch:
            writer.write(chunked(b'{"type":"ADDED","object":{"metadata":{"name":"a"}}}\n'))
            await reader.read()
        else:
            open_now += 1
            most = max(most, open_now)
            await asyncio.sleep(0.01)
            writer.write(answer(b"{}", headers="Connection: close\r\n"))
            open_now -= 1
        writer.close()

    async with served(slow, connections=2) as client:
        watches = [Projection(client, POD, Pod).watch() for _ in range(4)]
        await asyncio.gather(*(anext(each) for each in watches))
        await asyncio.gather(*(client.get("/x") for _ in range(6)))
        for each in watches:
            await each.aclose()
    assert most == 2


async def test_a_server_that_greets_nobody_is_given_up_and_has_seen_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    is_left = asyncio.Event()

    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        await writer.wait_closed()
        is_left.set()

    monkeypatch.setattr(dialer, "_WITHIN_S", 0.1)
    server = await asyncio.start_server(hold, "127.0.0.1", 0)
    address = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with asyncio.timeout(30), open_transport(Endpoint(server=address)) as transport:
        with pytest.raises(UnreachableError, match="no answer in time") as caught:
            await transport.send("POST", "/api/v1/pods")
    assert not caught.value.was_sent
    await asyncio.wait_for(is_left.wait(), 30)
    server.close()


async def test_a_reader_in_process_that_falls_behind_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_process, "_LIMIT_BYTES", 20)
    stream = in_process.LocalStream()
    for text in (b"one\n", b"two\n", b"three\n", b"four\n"):
        stream.send(frame(text))
    assert stream.closed
    assert [line async for line in stream.lines()] == [b"one", b"two", b"three"]


async def test_a_proxy_is_asked_in_place_of_the_server() -> None:
    server = Faulty(GOOD)
    proxy = await asyncio.start_server(server, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}"
    async with open_transport(Endpoint(server="http://plane.invalid:80", proxy=address)) as transport:
        assert (await transport.send("GET", "/x")).status == 200
    proxy.close()
    assert server.seen == [b"GET http://plane.invalid/x HTTP/1.1"]


@pytest.mark.parametrize(
    ("server", "environ", "proxy"),
    [
        ("https://k8s.example", {}, ""),
        ("https://k8s.example", {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        ("https://k8s.example", {"https_proxy": "p:1"}, "http://p:1"),
        ("https://k8s.example", {"HTTP_PROXY": "http://p:1"}, ""),
        ("https://k8s.example", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "a, .example"}, ""),
        ("https://k8s.example", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "8s.example"}, "http://p:1"),
        ("https://k8s.example", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "*"}, ""),
        ("https://10.1.2.3:6443", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8"}, ""),
        ("https://127.0.0.1:6443", {"HTTPS_PROXY": "http://p:1"}, ""),
        ("https://localhost:6443", {"HTTPS_PROXY": "http://p:1"}, ""),
    ],
)
def test_the_environment_names_a_proxy_and_who_needs_none(server: str, environ: dict[str, str], proxy: str) -> None:
    assert proxy_of(Endpoint(server=server), environ) == proxy


@pytest.mark.parametrize("proxy", ["socks5://me:secret@p", "http://me:secret@p:x", "http://:1"])
def test_a_proxy_of_the_environment_that_cannot_be_used_is_refused_without_showing_it(proxy: str) -> None:
    with pytest.raises(KubeconfigError, match="https_proxy names no proxy that is supported") as caught:
        proxy_of(Endpoint(server="https://k8s.example"), {"HTTPS_PROXY": proxy})
    assert "secret" not in str(caught.value)
