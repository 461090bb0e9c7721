"""TLS: the same server, and the certificate of a peer that has one."""

from __future__ import annotations

import asyncio
import socket
import ssl

import pytest
from cryptography import x509

from homeostat.edge.items import Items
from homeostat.edge.reply import Reply, StreamReply
from homeostat.edge.request import Request
from homeostat.edge.server import Limits
from homeostat.edge.stream import Stream, frame
from tests.edge.tls.authority import Authority, issue
from tests.edge.wire import connected, eventually, request, running


def who(request: Request) -> Reply:
    der = request.peer.certificate
    if der is None:
        return Reply(200, b"nobody")
    name = x509.load_der_x509_certificate(der).subject.rfc4514_string()
    return Reply(200, name.encode())


async def test_a_peer_with_a_certificate_is_known_by_it(authority: Authority) -> None:
    async with running(who, tls=authority.server) as server, connected(server, tls=authority.client("jane")) as client:
        assert (await client.get()).body == b"CN=jane"
        assert (await client.get()).body == b"CN=jane"


async def test_a_peer_without_a_certificate_is_served_too(authority: Authority) -> None:
    async with running(who, tls=authority.server) as server, connected(server, tls=authority.client()) as client:
        assert (await client.get()).body == b"nobody"
        assert client.writer.get_extra_info("ssl_object").selected_alpn_protocol() is None


async def test_a_certificate_of_another_authority_is_turned_away(authority: Authority) -> None:
    other = issue(authority.directory, "other")
    async with running(who, tls=authority.server) as server:
        with pytest.raises((ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)):
            async with connected(server, tls=authority.client("mallory", other)) as client:
                await client.get()
        assert server.requests == 0
        await eventually(lambda: server.connections == 0)


async def test_a_resumed_session_keeps_its_certificate(authority: Authority) -> None:
    context = authority.client("jane")
    context.maximum_version = ssl.TLSVersion.TLSv1_2

    def ask(port: int, session: ssl.SSLSession | None) -> tuple[bytes, bool, ssl.SSLSession | None]:
        raw = socket.create_connection(("127.0.0.1", port))
        with context.wrap_socket(raw, server_hostname="localhost", session=session) as wrapped:
            wrapped.sendall(request("GET", "/", "Connection: close"))
            received = b"".join(iter(lambda: wrapped.recv(4096), b""))
            return received.split(b"\r\n\r\n")[1], bool(wrapped.session_reused), wrapped.session

    async with running(who, tls=authority.server) as server:
        first, _, session = await asyncio.to_thread(ask, server.port, None)
        second, is_resumed, _ = await asyncio.to_thread(ask, server.port, session)
    assert (first, second, is_resumed) == (b"CN=jane", b"CN=jane", True)


async def test_http_1_1_is_agreed_on(authority: Authority) -> None:
    context = authority.client()
    context.set_alpn_protocols(["h2", "http/1.1"])
    async with running(who, tls=authority.server) as server, connected(server, tls=context) as client:
        assert client.writer.get_extra_info("ssl_object").selected_alpn_protocol() == "http/1.1"


async def test_tls_1_1_is_turned_away(authority: Authority) -> None:
    assert authority.server.minimum_version == ssl.TLSVersion.TLSv1_2


@pytest.mark.parametrize("method", ["GET", "POST", "PATCH", "DELETE"])
async def test_plain_http_on_a_tls_port_is_a_400_that_says_so(authority: Authority, method: str) -> None:
    async with running(who, tls=authority.server, limits=Limits(header_timeout_s=0.5)) as server:
        async with connected(server) as client:
            client.send(request(method, "/a", "X: " + "a" * 3000))
            answer = await client.answer()
            assert (answer.status, answer.headers["connection"]) == (400, "close")
            assert answer.body == b"Client sent an HTTP request to an HTTPS server.\n"
            assert await client.rest() == b""
        assert (server.connections, server.requests, len(server._open)) == (0, 0, 0)
        async with connected(server, tls=authority.client()) as client:
            assert (await client.get()).status == 200


async def test_a_handshake_that_never_ends_is_cut_off(authority: Authority) -> None:
    async with (
        running(who, tls=authority.server, limits=Limits(header_timeout_s=0.2)) as server,
        connected(server) as client,
    ):
        assert await client.rest() == b""


async def test_a_handshake_under_way_does_not_hold_up_a_stop(authority: Authority) -> None:
    async with running(who, tls=authority.server) as server, connected(server):
        await asyncio.sleep(0.02)
        async with asyncio.timeout(30):
            await server.stop(grace_s=0.1)


async def test_large_bodies_and_streams_arrive_whole(authority: Authority) -> None:
    body = bytes(range(256)) * 40_000

    def stream_it(stream: Stream) -> None:
        stream.send(frame(body))
        stream.close()

    def handler(request: Request) -> Reply | StreamReply:
        if request.path == "/stream":
            return StreamReply(200, stream_it)
        return Reply(200, Items(b"", [body, body], b"", separator=b""))

    async with running(handler, tls=authority.server) as server, connected(server, tls=authority.client()) as client:
        assert (await client.get()).body == body * 2
        assert (await client.get("/stream")).body == body
        assert (await client.get()).body == body * 2


async def test_a_large_body_is_not_encrypted_before_it_is_read(authority: Authority) -> None:
    body = b"x" * 50_000_000
    async with (
        running(lambda _: Reply(200, body), tls=authority.server) as server,
        connected(server, tls=authority.client()) as client,
    ):
        client.send(request())
        await client.head()
        await asyncio.sleep(0.1)
        assert server.counters.bytes_out < 20_000_000


async def test_a_stalled_reader_is_cut_off(authority: Authority) -> None:
    streams: list[Stream] = []
    handler = StreamReply(200, streams.append)
    async with (
        running(lambda _: handler, tls=authority.server, limits=Limits(stream_bytes=1_000_000)) as server,
        connected(server, tls=authority.client()) as client,
    ):
        client.send(request())
        await client.head()
        chunk = frame(b"x" * 100_000)
        for _ in range(500):
            streams[0].send(chunk)
            await asyncio.sleep(0)
        assert streams[0].closed
        assert server.counters.cut_off == 1
        await eventually(lambda: server.connections == 0)


async def test_a_refusal_arrives_over_tls(authority: Authority) -> None:
    async with (
        running(who, tls=authority.server, limits=Limits(linger_s=0.1, stall_timeout_s=0.5)) as server,
        connected(server, tls=authority.client()) as client,
    ):
        client.send(b"GET / HTTP/1.1\r\n\r\n")
        assert (await client.answer()).status == 400
        await eventually(lambda: server.connections == 0)


async def test_a_stop_ends_idle_connections_and_streams(authority: Authority) -> None:
    async with running(lambda _: StreamReply(200, lambda stream: None), tls=authority.server) as server:
        context = authority.client()
        async with connected(server, tls=context) as watching, connected(server, tls=context) as idle:
            watching.send(request())
            await watching.head()
            await eventually(lambda: server.connections == 2)
            async with asyncio.timeout(30):
                stopping = asyncio.ensure_future(server.stop(grace_s=1))
                assert (await watching.rest(), await idle.rest()) == (b"0\r\n\r\n", b"")
                watching.close()
                idle.close()
                await stopping
            assert server.connections == 0
