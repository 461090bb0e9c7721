"""How a server is reached: encrypted where its URL says so, by its own name, in time, and through a proxy."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from homeostat.client.endpoint.endpoint import Endpoint, KubeconfigError
from homeostat.client.http import dialer as dialer_module
from homeostat.client.http.dialer import Dialer, DialError
from homeostat.client.http.tls import Trust
from homeostat.client.http.transport import UnreachableError, open_transport
from tests.client.http.test_tls import Tunnel, proxying

Behaviour = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
SECRET = "hunter2"
SILENT = "192.0.2.1"


@asynccontextmanager
async def listening(behaviour: Behaviour, context: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await behaviour(reader, writer)
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            writer.transport.abort()

    server = await asyncio.start_server(served, "127.0.0.1", 0, ssl=context)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("scheme", ["https", "HTTPS", "Https"])
async def test_nothing_is_said_in_clear_to_a_server_whose_url_says_https(scheme: str) -> None:
    heard: list[bytes] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read(1000))

    async with (
        listening(listen) as address,
        open_transport(Endpoint(server=f"{scheme}://{address}", token=SECRET)) as transport,
    ):
        with pytest.raises(UnreachableError):
            await transport.send("GET", "/")
        with pytest.raises(UnreachableError):
            await transport.stream("/")
    hello_of_tls = b"\x16\x03"
    assert [each[:2] for each in heard] == [hello_of_tls] * 2
    assert not any(SECRET.encode() in each for each in heard)


@pytest.mark.parametrize(("server", "is_tls"), [("http://x", False), ("https://x", True), ("HTTPS://x", True)])
async def test_there_is_no_trust_only_where_the_url_says_http(server: str, is_tls: bool) -> None:
    assert (await Trust(Endpoint(server=server)).context(None, None) is not None) == is_tls


async def test_who_forgets_the_trust_does_not_get_a_connection_in_clear() -> None:
    with pytest.raises(DialError, match="for its URL to say"):
        await Dialer("https://127.0.0.1:1").dial(None)
    with pytest.raises(DialError, match="for its URL to say"):
        await Dialer("http://127.0.0.1:1").dial(ssl.create_default_context())


@pytest.mark.parametrize(
    ("server", "proxy"),
    [
        ("ftp://x", ""),
        ("x:6443", ""),
        ("https://", ""),
        ("https://x:99999", ""),
        ("https://x/a b", ""),
        ("https://a b", ""),
        ("https://bücher.example", ""),
        ("https://x", f"socks5://me:{SECRET}@p:1"),
        ("https://x", f"http://me:{SECRET}@p:x"),
    ],
)
def test_an_address_that_no_request_can_name_is_reported_without_its_password(server: str, proxy: str) -> None:
    with pytest.raises(KubeconfigError, match="cannot be used") as caught:
        Dialer(server, proxy=proxy)
    assert SECRET not in str(caught.value)


async def test_what_is_shown_of_a_server_is_without_its_password() -> None:
    async with open_transport(Endpoint(server=f"http://me:{SECRET}@127.0.0.1:1/base")) as transport:
        with pytest.raises(UnreachableError, match=r"cannot reach http://127\.0\.0\.1:1/base: ") as caught:
            await transport.send("GET", "/")
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("tls_name", "shown"), [("localhost", "localhost"), ("", None)], ids=["by a name", "an address has none"]
)
async def test_the_server_learns_by_which_name_it_is_called(
    endpoint: Endpoint, started_once: Path, tls_name: str, shown: str | None
) -> None:
    called: list[str | None] = []
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(started_once / "pki" / "server.crt", started_once / "pki" / "server.key")
    context.sni_callback = lambda _socket, name, _context: called.append(name)

    async def say_no(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        await reader.read()

    async with listening(say_no, context) as address:
        named = replace(endpoint, server=f"https://{address}", tls_server_name=tls_name)
        async with open_transport(named) as transport:
            assert (await transport.send("GET", "/")).status == 404
    assert called == [shown]


async def test_a_server_behind_a_proxy_must_be_who_it_should_be(endpoint: Endpoint) -> None:
    async with proxying(Tunnel()) as address:
        for other in (
            replace(endpoint, proxy=f"http://{address}", tls_server_name="other.example"),
            replace(endpoint, proxy=f"http://{address}", authority=None),
        ):
            async with open_transport(other) as transport:
                with pytest.raises(UnreachableError, match="not trusted"):
                    await transport.send("GET", "/version")


async def test_a_password_for_the_proxy_is_not_for_the_server() -> None:
    assert Dialer("https://x", proxy=f"http://me:{SECRET}@p:1").headers == ""
    assert Dialer("http://x", proxy="http://me:a%2Fb@p:1").headers == "Proxy-Authorization: Basic bWU6YS9i\r\n"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n", "its proxy answers 407"),
        (b"HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nno wa", "its proxy answers 403"),
        (b"HTTP/1.1 502 Bad Gateway\r\n\r\n", "its proxy answers 502"),
        (b"HTTP/1.1 301 Moved\r\nLocation: http://elsewhere\r\n\r\n", "its proxy answers 301"),
        (b"HTTP/1.1 200 OK\r\n\r\nthis is not TLS", "cannot reach"),
        (b"SSH-2.0-proxy\r\n", "not HTTP"),
        (b"", "the connection broke"),
    ],
)
async def test_a_proxy_that_refuses_is_reported_and_the_server_has_seen_nothing(answer: bytes, reason: str) -> None:
    heard: list[bytes] = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answer)
        await asyncio.sleep(0.01)

    async with listening(refuse) as address:
        endpoint = Endpoint(server="https://plane.invalid", proxy=f"http://{address}", token=SECRET)
        async with open_transport(endpoint) as transport:
            with pytest.raises(UnreachableError, match=reason) as caught:
                await transport.send("POST", "/")
    assert not caught.value.was_sent
    assert len(heard) == 1
    assert SECRET.encode() not in heard[0]


@pytest.mark.parametrize("down", ["127.0.0.2", SILENT], ids=["refuses", "says nothing"])
async def test_of_several_addresses_one_that_is_down_is_passed_over_and_then_not_asked_first(
    monkeypatch: pytest.MonkeyPatch, down: str
) -> None:
    monkeypatch.setattr(dialer_module, "_WITHIN_S", 1.0)
    loop = asyncio.get_running_loop()
    asked: list[str] = []
    connect = loop.create_connection

    async def resolved(_host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in (down, "127.0.0.1")]

    async def connecting(factory: Callable[[], asyncio.Protocol], host: str, *rest: Any, **options: Any) -> Any:
        asked.append(host)
        if host == SILENT:
            await asyncio.Event().wait()
        return await connect(factory, host, *rest, **options)

    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    monkeypatch.setattr(loop, "getaddrinfo", resolved)
    monkeypatch.setattr(loop, "create_connection", connecting)
    async with listening(wait) as address:
        dialer = Dialer(f"http://plane.example:{address.rpartition(':')[2]}")
        for _ in range(2):
            await (await dialer.dial(None)).close()
    assert asked == [down, "127.0.0.1", "127.0.0.1"]


@pytest.mark.parametrize("through_proxy", [False, True])
async def test_who_takes_a_call_and_says_nothing_is_given_up(
    monkeypatch: pytest.MonkeyPatch, through_proxy: bool
) -> None:
    monkeypatch.setattr(dialer_module, "_WITHIN_S", 0.1)

    async def stay_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(1000):
            pass

    async with listening(stay_silent) as address:
        proxy = f"http://{address}" if through_proxy else ""
        server = "https://plane.invalid" if through_proxy else f"https://{address}"
        async with open_transport(Endpoint(server=server, proxy=proxy)) as transport:
            with pytest.raises(UnreachableError, match="no answer in time") as caught:
                await transport.send("POST", "/")
    assert not caught.value.was_sent
