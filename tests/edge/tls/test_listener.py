"""Handshakes take turns, and a client that does not finish its own holds up nobody."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from contextlib import suppress

import pytest

from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.edge.server import Limits, Server
from homeostat.edge.tls import listener
from tests.edge.tls.authority import Authority
from tests.edge.wire import connected, eventually, running
from tests.holds import measured_turns


def ok(_: Request) -> Reply:
    return Reply(200, b"ok")


def first_message(trust: ssl.SSLContext) -> bytes:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = trust.wrap_bio(incoming, outgoing, server_hostname="localhost")
    with suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def open_sockets(server: Server, count: int) -> list[socket.socket]:
    return [socket.create_connection(("127.0.0.1", server.port)) for _ in range(count)]


async def test_many_handshakes_at_once_are_started_in_many_turns(authority: Authority) -> None:
    hello = first_message(authority.client())
    async with running(ok, tls=authority.server) as server:
        opened = open_sockets(server, 200)
        try:
            await asyncio.sleep(0.1)
            async with measured_turns() as turns:
                for each in opened:
                    each.send(hello)
                async with connected(server, tls=authority.client()) as client:
                    assert (await client.get()).status == 200
        finally:
            for each in opened:
                each.close()
    assert turns.longest_s < 0.06, "200 handshakes in one turn would take 0.1 s or more"


async def test_a_first_message_in_pieces_is_waited_for(authority: Authority) -> None:
    async with running(ok, tls=authority.server) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        hello = first_message(authority.client())
        for at in range(0, len(hello), 100):
            writer.write(hello[at : at + 100])
            await asyncio.sleep(0.005)
        async with asyncio.timeout(30):
            assert (await reader.readexactly(1))[0] == 0x16
        writer.transport.abort()


async def test_clients_that_stop_in_their_first_message_take_no_time(authority: Authority) -> None:
    hello = first_message(authority.client())
    async with running(ok, tls=authority.server) as server:
        opened = open_sockets(server, 300)
        try:
            for number, each in enumerate(opened):
                each.send(hello[: 3 if number % 2 else 100])
            opened[0].shutdown(socket.SHUT_WR)
            async with connected(server, tls=authority.client()) as client:
                assert (await client.get()).status == 200
            began = time.thread_time()
            await asyncio.sleep(0.5)
            # If each were read again every 20 ms, it would take 0.1 s.
            assert time.thread_time() - began < 0.03
            opened[1].setblocking(False)
            opened[1].send(hello[3:])
            async with asyncio.timeout(30):
                assert (await asyncio.get_running_loop().sock_recv(opened[1], 1))[0] == 0x16
        finally:
            for each in opened:
                each.close()


async def test_a_client_that_never_begins_is_closed(authority: Authority) -> None:
    async with running(ok, tls=authority.server, limits=Limits(header_timeout_s=0.1)) as server:
        silent, midway = open_sockets(server, 2)
        midway.send(first_message(authority.client())[:20])
        for each in (silent, midway):
            each.setblocking(False)
            async with asyncio.timeout(30):
                try:
                    received = await asyncio.get_running_loop().sock_recv(each, 1)
                except ConnectionResetError:
                    received = b""
            assert received == b""
            each.close()
        async with connected(server, tls=authority.client()) as client:
            assert (await client.get()).status == 200


async def test_beyond_the_limit_the_oldest_that_has_not_begun_gives_way(authority: Authority) -> None:
    async with running(ok, tls=authority.server, limits=Limits(max_connections=5)) as server:
        opened = open_sockets(server, 20)
        async with connected(server, tls=authority.client()) as client:
            assert (await client.get()).status == 200
        for each in opened:
            each.close()
        await eventually(lambda: server.connections == 0)


async def test_a_client_that_keeps_an_idle_connection_does_not_hold_up_the_end(authority: Authority) -> None:
    """It does not read, as pools of clients do, so it never confirms the end of TLS."""

    def use(port: int) -> ssl.SSLSocket:
        raw = socket.create_connection(("127.0.0.1", port))
        kept = authority.client().wrap_socket(raw, server_hostname="localhost")
        kept.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert kept.recv(1000)
        return kept

    async with running(ok, tls=authority.server) as server:
        kept = await asyncio.to_thread(use, server.port)
        async with asyncio.timeout(30):
            await server.stop(grace_s=60)
        kept.close()


async def half_shaken(server: Server, trust: ssl.SSLContext) -> tuple[socket.socket, bytes]:
    """A connection whose client has yet to send its last message of the handshake, and that message."""
    loop, opened = asyncio.get_running_loop(), socket.socket()
    opened.setblocking(False)
    await loop.sock_connect(opened, ("127.0.0.1", server.port))
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = trust.wrap_bio(incoming, outgoing, server_hostname="localhost")
    with suppress(ssl.SSLWantReadError):
        client.do_handshake()
    await loop.sock_sendall(opened, outgoing.read())
    while not outgoing.pending:
        incoming.write(await loop.sock_recv(opened, 1 << 16))
        with suppress(ssl.SSLWantReadError):
            client.do_handshake()
    return opened, outgoing.read()


async def test_clients_that_finish_their_handshakes_at_the_same_moment_hold_up_nobody(authority: Authority) -> None:
    trust = authority.client()
    trust.maximum_version = ssl.TLSVersion.TLSv1_2
    async with running(ok, tls=authority.server) as server:
        opened = [await half_shaken(server, trust) for _ in range(listener.MOST_UNFINISHED)]
        try:
            async with measured_turns() as turns:
                for each, last in opened:
                    with suppress(OSError):
                        each.send(last)
                async with connected(server, tls=authority.client()) as client:
                    assert (await client.get()).status == 200
            await eventually(lambda: server.connections >= listener.MOST_UNFINISHED)
        finally:
            for each, _ in opened:
                each.close()
    assert turns.longest_s < 0.08, "all of them together"


async def test_honest_clients_far_away_wait_for_their_places(authority: Authority) -> None:
    trust = authority.client()

    async def visit() -> bool:
        opened, last = await half_shaken(server, trust)
        await asyncio.sleep(0.1)
        with opened:
            await asyncio.get_running_loop().sock_sendall(opened, last)
            return bool(await asyncio.get_running_loop().sock_recv(opened, 1))

    async with running(ok, tls=authority.server) as server, asyncio.timeout(60):
        # With TLS 1.3, the server sends tickets to a client whose handshake it finished.
        answered = await asyncio.gather(*(visit() for _ in range(300)))
    assert all(answered)


async def test_clients_that_never_finish_give_way_to_others(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "MOST_UNFINISHED", 16)
    monkeypatch.setattr(listener, "PATIENCE_S", 0.1)
    async with running(ok, tls=authority.server) as server:
        opened = [await half_shaken(server, authority.client()) for _ in range(40)]
        async with connected(server, tls=authority.client()) as client:
            assert (await client.get()).status == 200
        for each, _ in opened:
            each.close()
