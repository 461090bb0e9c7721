"""TLS to a real plane: who is trusted, by which name, and which certificate is shown, through a proxy too."""

from __future__ import annotations

import asyncio
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace

import pytest

from homeostat.client.connect import open_client
from homeostat.client.endpoint.endpoint import Endpoint, ExecPlugin
from homeostat.client.http.dialer import Dialer
from homeostat.client.http.pool import Pool
from homeostat.client.http.tls import make_context
from homeostat.client.http.transport import UnreachableError, open_transport
from homeostat.objects.errors import ForbiddenError
from homeostat.objects.json import encode
from homeostat.plane import Plane

NAMESPACE = "/api/v1/namespaces/default"
V1 = "client.authentication.k8s.io/v1"


async def test_the_certificate_may_be_of_another_name(endpoint: Endpoint) -> None:
    async with open_transport(replace(endpoint, tls_server_name="localhost")) as transport:
        assert (await transport.send("GET", NAMESPACE)).status == 200
    async with open_transport(replace(endpoint, tls_server_name="other.example")) as transport:
        with pytest.raises(UnreachableError, match="not trusted"):
            await transport.send("GET", NAMESPACE)


async def test_the_plane_takes_a_request_as_somebody_elses(endpoint: Endpoint) -> None:
    impersonation = (("Impersonate-User", "jane"), ("Impersonate-Group", "a"), ("Impersonate-Group", "b"))
    async with open_client(replace(endpoint, impersonation=impersonation)) as client:
        with pytest.raises(ForbiddenError, match='User "jane" cannot get'):
            await client.get(NAMESPACE)


async def test_a_plugin_may_give_a_certificate(endpoint: Endpoint) -> None:
    assert endpoint.certificate is not None
    assert endpoint.key is not None
    status = {"clientCertificateData": endpoint.certificate.decode(), "clientKeyData": endpoint.key.decode()}
    printed = encode({"apiVersion": V1, "kind": "ExecCredential", "status": status}).decode()
    plugin = ExecPlugin(command=sys.executable, arguments=("-S", "-c", f"print({printed!r})"))
    bare = replace(endpoint, certificate=None, key=None, token="")
    async with open_transport(bare) as transport:
        assert (await transport.send("GET", NAMESPACE)).status in {401, 403}
    async with open_client(replace(bare, plugin=plugin)) as client:
        assert (await client.get(NAMESPACE))["metadata"]["name"] == "default"


async def test_a_connection_made_with_a_former_certificate_is_not_used_again(endpoint: Endpoint) -> None:
    dialer = Dialer(endpoint.server)
    request = f"GET {NAMESPACE} HTTP/1.1\r\nHost: {dialer.host}\r\n\r\n".encode()
    shown, hidden = make_context(endpoint, endpoint.certificate, endpoint.key), make_context(endpoint, None, None)
    pool = Pool(dialer, connections=1, answer_s=5.0)
    try:
        statuses = [(await pool.ask(request, context))[0].status for context in (shown, hidden, shown)]
    finally:
        await pool.close()
    assert statuses == [200, 403, 200]


class Tunnel:
    """A proxy that does CONNECT. Silenced, it carries nothing more; `is_left` once the client has gone."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []
        self.is_silent = False
        self.is_left = asyncio.Event()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.asked.append(head)
        host, _, port = head.split()[1].decode().rpartition(":")
        there, back = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await asyncio.gather(self._carry_in(reader, back), self._carry(there, writer))

    async def _carry_in(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._carry(reader, writer)
        self.is_left.set()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                if not self.is_silent:
                    writer.write(data)
                    await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()


@asynccontextmanager
async def proxying(tunnel: Tunnel, context: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    server = await asyncio.start_server(tunnel, "127.0.0.1", 0, ssl=context)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


async def test_a_proxy_carries_what_it_cannot_read(endpoint: Endpoint) -> None:
    tunnel = Tunnel()
    async with proxying(tunnel) as address:
        proxied = replace(endpoint, proxy=f"http://me:secret@{address}", tls_server_name="localhost")
        async with open_transport(proxied) as transport:
            assert (await transport.send("GET", NAMESPACE)).status == 200
            events = await transport.stream(NAMESPACE, query="watch=true&timeoutSeconds=1")
            assert isinstance(events, AsyncIterator)
            assert [each async for each in events]
    assert all(each.startswith(b"CONNECT ") for each in tunnel.asked)
    assert b"Proxy-Authorization: Basic bWU6c2VjcmV0" in tunnel.asked[0]
    assert b"GET" not in tunnel.asked[0]


async def test_a_proxy_may_be_encrypted_itself_and_what_the_system_trusts_is_read_once(
    endpoint: Endpoint, plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    pki = plane.settings.data / "pki"
    shown = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    shown.load_cert_chain(pki / "server.crt", pki / "server.key")
    monkeypatch.setenv("SSL_CERT_FILE", str(pki / "ca.crt"))
    async with proxying(Tunnel(), shown) as address:
        proxied = replace(endpoint, proxy=f"https://{address}", tls_server_name="localhost")
        async with open_transport(proxied) as transport:
            monkeypatch.setenv("SSL_CERT_FILE", "/nowhere")
            events = await transport.stream(NAMESPACE, query="watch=true&timeoutSeconds=1")
            assert isinstance(events, AsyncIterator)
            assert [each async for each in events]
            assert (await transport.send("GET", NAMESPACE)).status == 200


async def test_leaving_a_watch_does_not_wait_for_a_server_that_has_gone_silent(endpoint: Endpoint) -> None:
    tunnel = Tunnel()
    async with proxying(tunnel) as address:
        proxied = replace(endpoint, proxy=f"http://{address}", tls_server_name="localhost")
        async with open_client(proxied) as client:
            async with aclosing(client.lines("/api/v1/namespaces")) as lines:
                await anext(lines)
                tunnel.is_silent = True
            await asyncio.wait_for(tunnel.is_left.wait(), 30)
