"""Requests go through the proxy that the environment or the settings name, except where they say otherwise."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from homeostat.edge.proxies import Proxies, read_proxies
from homeostat.external.rest.client import RestClient
from homeostat.external.rest.errors import NotSentError
from homeostat.external.rest.request import Request
from homeostat.external.rest.settings import RestSettings
from homeostat.external.secrets.credentials import BasicAuth, TlsCredentials
from tests.external.rest.raw import read_head, speaking
from tests.external.servers import own_authority, serving

GIVEN = {"http_proxy": "http://p:1", "HTTPS_PROXY": "s:2", "NO_PROXY": "local.example, 10.0.0.0/8,*.dev"}


@pytest.mark.parametrize(
    ("scheme", "host", "expected"),
    [
        ("http", "a.example", "http://p:1"),
        ("https", "a.example", "http://s:2"),
        ("https", "local.example", ""),
        ("https", "x.LOCAL.example", ""),
        ("https", "notlocal.example", "http://s:2"),
        ("https", "x.dev", ""),
        ("http", "10.1.2.3", ""),
        ("http", "11.1.2.3", "http://p:1"),
        ("http", "localhost", ""),
        ("http", "127.0.0.1", ""),
        ("http", "::1", ""),
    ],
)
def test_the_environment_says_which(scheme: str, host: str, expected: str) -> None:
    assert read_proxies(GIVEN).proxy_for(scheme, host) == expected


def test_without_variables_there_is_none_and_star_means_all() -> None:
    assert read_proxies({}).proxy_for("https", "a.example") == ""
    assert read_proxies({"HTTPS_PROXY": "http://p", "NO_PROXY": "*"}).proxy_for("https", "a.example") == ""
    assert "s3cret" not in repr(read_proxies({"HTTPS_PROXY": "http://u:s3cret@p"}))


class Proxy:
    """Forwards nothing: it answers requests itself, and tunnels CONNECT to one server."""

    def __init__(self) -> None:
        self.heads: list[str] = []
        self.target: tuple[str, int] | None = None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await read_head(reader)).decode()
        self.heads.append(head)
        if not head.startswith("CONNECT "):
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nproxy")
            await writer.drain()
        elif self.target is None:
            writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
        else:
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            await self._tunnel(reader, writer, self.target)

    async def _tunnel(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: tuple[str, int]
    ) -> None:
        there, thither = await asyncio.open_connection(*target)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(_pump(reader, thither))
                tasks.create_task(_pump(there, writer))
        finally:
            thither.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()
    writer.close()


@pytest.fixture
async def proxy() -> AsyncIterator[tuple[Proxy, str]]:
    made = Proxy()
    async with speaking(made.serve) as host:
        yield made, host


async def test_a_request_goes_to_the_proxy_with_its_credentials(proxy: tuple[Proxy, str]) -> None:
    proxies = Proxies(http=f"http://user:p%40ss@{proxy[1]}")
    # The proxy itself is on loopback, and the target's name is resolved by nobody here.
    async with RestClient(RestSettings(proxies=proxies, allows_private=False)) as client:
        response = await client.send(Request("GET", "http://a.example/x", {"X-A": "1"}))
    assert response.body == b"proxy"
    head = proxy[0].heads[0]
    assert head.startswith("GET http://a.example/x HTTP/1.1\r\n")
    assert f"Proxy-Authorization: {BasicAuth('user', 'p@ss').header}\r\n" in head


async def test_https_is_tunnelled_and_the_proxy_sees_the_host_alone(proxy: tuple[Proxy, str], tmp_path: Path) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(text=request.headers["Authorization"], headers={"Connection": "close"})

    context, authority = own_authority(tmp_path)
    async with serving(answer, context) as url:
        host, port = url.removeprefix("https://").split(":")
        proxy[0].target = (host, int(port))
        # 127.0.0.1 would be reached directly; the certificate is not the name's, which is no matter here.
        settings = RestSettings(proxies=Proxies(https=proxy[1]))
        async with RestClient(settings) as client:
            tls = TlsCredentials(authority=authority, is_verified=False)
            auth = BasicAuth("a", "s3cret")
            response = await client.send(Request("GET", f"https://a.example:{port}/path", auth=auth, tls=tls))
    assert response.body.decode() == auth.header
    assert proxy[0].heads[0].startswith(f"CONNECT a.example:{port} HTTP/1.1\r\n")
    assert auth.header not in proxy[0].heads[0]
    assert "path" not in proxy[0].heads[0]


async def test_a_failed_proxy_is_distinguished_from_a_failed_host(proxy: tuple[Proxy, str]) -> None:
    async with RestClient(
        RestSettings(proxies=Proxies(https=proxy[1], http="http://user:s3cret@127.0.0.1:1"))
    ) as client:
        with pytest.raises(NotSentError, match=r"a\.example: the proxy refused to connect: HTTP 403"):
            await client.send(Request("POST", "https://a.example/", body=b"x"))
        with pytest.raises(NotSentError, match="cannot connect to the proxy") as error:
            await client.send(Request("POST", "http://a.example/", body=b"x"))
    assert "s3cret" not in str(error.value)


async def test_a_metadata_service_is_not_called_through_a_proxy_either(proxy: tuple[Proxy, str]) -> None:
    async with RestClient(RestSettings(proxies=Proxies(http=proxy[1]))) as client:
        for url in ("http://169.254.169.254/latest", "http://metadata.google.internal/"):
            with pytest.raises(NotSentError, match="never called"):
                await client.send(Request("GET", url))
    assert proxy[0].heads == []


async def test_a_metadata_service_is_not_a_proxy_whatever_its_spelling() -> None:
    for host in ("169.254.169.254", "[fe80::1]", "[::ffff:169.254.169.254]", "100.100.100.200"):
        async with RestClient(RestSettings(proxies=Proxies(http=f"http://{host}:80"))) as client:
            with pytest.raises(NotSentError, match="the address of its proxy may not be called"):
                await client.send(Request("GET", "http://a.example/latest/meta-data"))
