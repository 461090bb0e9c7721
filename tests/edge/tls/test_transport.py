"""TLS takes little memory for each connection, and says why it ends."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import socket
import ssl
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from homeostat.edge.connection.connection import Connection
from homeostat.edge.connection.turns import Turns, turns_of
from homeostat.edge.loop import loop_factory
from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.edge.server import Limits, Server
from homeostat.edge.tls.transport import MOST_HANDSHAKE_RECORDS, TlsTransport
from tests.edge.tls.authority import Authority, issue
from tests.edge.wire import connected, eventually, request, running

_FIELDS = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"


class _Allocated(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in _FIELDS.split()]


def allocated_kib() -> int:
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallinfo2"):
        pytest.skip("needs glibc, which knows how much is allocated")
    library.mallinfo2.restype = _Allocated
    found = library.mallinfo2()
    return int(found.uordblks + found.hblkhd) // 1024


def ok(_: Request) -> Reply:
    return Reply(200, b"ok")


def open_clients(server: Server, context: ssl.SSLContext, count: int) -> list[ssl.SSLSocket]:
    return [
        context.wrap_socket(socket.create_connection(("127.0.0.1", server.port)), server_hostname="localhost")
        for _ in range(count)
    ]


async def test_an_idle_connection_takes_some_kib(authority: Authority) -> None:
    async with running(ok, tls=authority.server) as server:
        before = allocated_kib()
        clients = await asyncio.to_thread(open_clients, server, authority.client(), 40)
        try:
            await eventually(lambda: server.connections == 40)
            assert (allocated_kib() - before) / 40 < 128, "with a buffer of 256 KiB it would be 300"
        finally:
            for each in clients:
                each.close()


@pytest.mark.skipif(loop_factory() is asyncio.new_event_loop, reason="needs uvloop")
async def test_a_client_that_waits_for_a_handshake_takes_some_kib(authority: Authority) -> None:
    loop = loop_factory()

    async def measure() -> float:
        with socket.create_server(("127.0.0.1", 0), backlog=50) as silent:
            context, before = authority.client(), allocated_kib()
            running = asyncio.get_running_loop()
            tasks = [
                asyncio.ensure_future(
                    running.create_connection(
                        asyncio.Protocol, *silent.getsockname(), ssl=context, server_hostname="localhost"
                    )
                )
                for _ in range(40)
            ]
            await asyncio.sleep(0.1)
            found = (allocated_kib() - before) / 40
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            return found

    def run() -> float:
        with asyncio.Runner(loop_factory=loop) as runner:
            return runner.run(measure())

    assert await asyncio.to_thread(run) < 128, "with a buffer of 256 KiB it would be 300"


async def test_a_connection_that_ended_leaves_nothing_for_the_garbage_collector(authority: Authority) -> None:
    def use(port: int) -> None:
        context = authority.client()
        for sent in (request(), b"no request\r\n\r\n", b""):
            with (
                socket.create_connection(("127.0.0.1", port)) as raw,
                context.wrap_socket(raw, server_hostname="localhost") as wrapped,
            ):
                wrapped.sendall(sent)
                assert not sent or wrapped.recv(1)
        # A handshake that fails, and one that the client gives up.
        for sent in (b"\x16\x03\x01\x00\x05nohello", b"\x16\x03\x01"):
            with socket.create_connection(("127.0.0.1", port)) as raw:
                raw.sendall(sent)

    def left() -> list[str]:
        return [type(each).__name__ for each in gc.get_objects() if isinstance(each, TlsTransport | Connection)]

    gc.collect()
    gc.disable()
    try:
        async with running(ok, tls=authority.server) as server:
            await asyncio.to_thread(use, server.port)
            await eventually(lambda: not left())
    finally:
        gc.enable()


async def test_a_refused_certificate_is_explained_by_an_alert(authority: Authority) -> None:
    context = authority.client("mallory", issue(authority.directory, "other"))

    def ask(port: int) -> None:
        with (
            socket.create_connection(("127.0.0.1", port)) as raw,
            context.wrap_socket(raw, server_hostname="localhost") as wrapped,
        ):
            wrapped.recv(1)

    async with running(ok, tls=authority.server) as server:
        with pytest.raises(ssl.SSLError, match="ALERT_UNKNOWN_CA"):
            await asyncio.to_thread(ask, server.port)


async def test_a_body_of_plain_http_does_not_discard_the_answer_to_it(authority: Authority) -> None:
    async with running(ok, tls=authority.server) as server, connected(server) as client:
        client.send(request("POST", "/", "Content-Length: 600000"))
        assert (await client.answer()).status == 400
        client.send(b"x" * 600_000)
        async with asyncio.timeout(10):
            assert await client.rest() == b""


async def test_requests_in_records_of_any_size_are_answered(authority: Authority) -> None:
    async with running(ok, tls=authority.server) as server, connected(server, tls=authority.client()) as client:
        for byte in request("GET", "/a"):
            client.send(bytes([byte]))
        assert (await client.answer()).status == 200
        client.send(request("POST", "/", body=b"x" * 1_000_000) + request())
        assert [(await client.answer()).status for _ in range(2)] == [200, 200]


class Wire(asyncio.Transport):
    """TCP in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = b""
        self.is_paused = self.is_aborted = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent += data

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False

    def close(self) -> None:
        pass

    def abort(self) -> None:
        self.is_aborted = True


class Received(asyncio.Protocol):
    def __init__(self) -> None:
        self.data = b""
        self.error: Exception | None = None

    def data_received(self, data: bytes) -> None:
        self.data += data

    def connection_lost(self, error: Exception | None) -> None:
        self.error = error


async def open_server(
    authority: Authority, wire: Wire, received: Received, early: bytes = b"", turns: Turns | None = None
) -> tuple[TlsTransport, ssl.SSLObject, ssl.MemoryBIO]:
    """A server, its client, and what the client sends. `early` comes with the end of the handshake."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = authority.client().wrap_bio(incoming, outgoing, server_hostname="localhost")
    server = TlsTransport(received, authority.server, turns=turns)
    server.connection_made(wire)
    for data in (b"", early):
        with suppress(ssl.SSLWantReadError):
            client.do_handshake()
        if data:
            client.write(data)
        server.data_received(outgoing.read())
        incoming.write(wire.sent)
        wire.sent = b""
    await server.ready()
    return server, client, outgoing


class Endless(Wire):
    """It keeps nothing of what is sent after the handshake."""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if len(data) < 16_000:
            super().write(data)


async def test_a_connection_keeps_no_memory_of_a_large_response(authority: Authority) -> None:
    server, _, _ = await open_server(authority, Endless(), Received())
    response = bytes(8 << 20)
    before = allocated_kib()
    server.write(response)
    assert allocated_kib() - before < 256, "OpenSSL keeps as much as it has needed at once"


async def test_the_end_of_tcp_alone_is_an_error(authority: Authority) -> None:
    received = Received()
    server, client, outgoing = await open_server(authority, Wire(), received)
    client.write(b"half")
    server.data_received(outgoing.read())
    server.eof_received()
    server.connection_lost(None)
    assert received.data == b"half"
    assert isinstance(received.error, ConnectionResetError)


async def test_a_forged_record_is_an_error(authority: Authority) -> None:
    received = Received()
    server, _, _ = await open_server(authority, Wire(), received)
    server.data_received(b"\x17\x03\x03\x00\x20" + bytes(32))
    server.connection_lost(None)
    assert isinstance(received.error, ssl.SSLError)


async def test_the_end_of_tls_is_no_error(authority: Authority) -> None:
    received = Received()
    server, client, outgoing = await open_server(authority, Wire(), received)
    with suppress(ssl.SSLWantReadError):
        client.unwrap()
    server.data_received(outgoing.read())
    server.eof_received()
    server.connection_lost(None)
    assert received.error is None


class Pausing(Received):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, TlsTransport)
        transport.pause_reading()


async def test_a_paused_protocol_gets_what_came_with_the_handshake_later(authority: Authority) -> None:
    received = Pausing()
    server, client, outgoing = await open_server(authority, Wire(), received, early=b"early")
    await asyncio.sleep(0.01)
    assert received.data == b""
    server.resume_reading()
    await eventually(lambda: received.data == b"early")
    client.write(b" late")
    server.data_received(outgoing.read())
    assert received.data == b"early late"


async def test_records_of_one_byte_are_read_in_many_turns(authority: Authority) -> None:
    wire, received = Wire(), Received()
    server, client, outgoing = await open_server(authority, wire, received)
    for _ in range(1000):
        client.write(b"x")
    server.data_received(outgoing.read())
    assert (len(received.data), wire.is_paused) == (16, True), "each record takes 8 microseconds"
    server.pause_reading()
    await asyncio.sleep(0.01)
    assert len(received.data) == 16
    server.resume_reading()
    await eventually(lambda: received.data == b"x" * 1000)
    assert not wire.is_paused


async def test_connections_that_receive_much_at_once_share_the_turns(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = Turns(asyncio.get_running_loop())
    opened = [(received := Received(), await open_server(authority, Wire(), received, turns=turns)) for _ in range(12)]
    monkeypatch.setattr("homeostat.edge.connection.turns.LONGEST_S", -1.0)
    for _, (server, client, outgoing) in opened:
        client.write(b"x" * 200_000)
        server.data_received(outgoing.read())
    most, read = 0, sum(len(received.data) for received, _ in opened)
    assert read <= 2 * 16 * 16_384, "one at once, and one after its time was over"
    while read < 12 * 200_000:
        await asyncio.sleep(0)
        before, read = read, sum(len(received.data) for received, _ in opened)
        most = max(most, read - before)
    assert most <= 16 * 16_384


@pytest.mark.skipif(loop_factory() is asyncio.new_event_loop, reason="needs uvloop")
async def test_clients_share_the_turns_of_their_event_loop(authority: Authority) -> None:
    async def connect(port: int) -> bool:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_connection(
            asyncio.Protocol, "127.0.0.1", port, ssl=authority.client(), server_hostname="localhost"
        )
        assert isinstance(transport, TlsTransport)
        transport.abort()
        return transport._turns is turns_of(loop)

    def run(port: int) -> bool:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            return runner.run(connect(port))

    async with running(ok, tls=authority.server) as server:
        assert await asyncio.to_thread(run, server.port)


def first_flight(authority: Authority, size: int) -> bytes:
    """The first message of a client, in records of so many bytes."""
    outgoing = ssl.MemoryBIO()
    client = authority.client().wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost")
    with suppress(ssl.SSLWantReadError):
        client.do_handshake()
    record = outgoing.read()
    pieces = [record[at : at + size] for at in range(5, len(record), size)]
    return b"".join(record[:3] + len(piece).to_bytes(2, "big") + piece for piece in pieces)


async def test_a_handshake_in_some_records_continues(authority: Authority) -> None:
    wire, flight = Wire(), first_flight(authority, 8)
    server = TlsTransport(Received(), authority.server)
    server.connection_made(wire)
    for byte in flight:
        server.data_received(bytes([byte]))
    assert (wire.is_aborted, bool(wire.sent)) == (False, True)


async def test_a_handshake_in_records_of_one_byte_is_ended(authority: Authority) -> None:
    """Each takes 4 microseconds: 43,000 of them, as one read brings them, took 190 ms in one turn."""
    wire, flight = Wire(), first_flight(authority, 1)
    assert len(flight) > 6 * MOST_HANDSHAKE_RECORDS
    server = TlsTransport(Received(), authority.server)
    server.connection_made(wire)
    server.data_received(flight)
    assert (wire.is_aborted, wire.sent) == (True, b"")
    with pytest.raises(ConnectionAbortedError, match="too many records"):
        await server.ready()


@pytest.mark.parametrize("size", [1, 3, 16_406, 20_000])
async def test_records_may_arrive_in_pieces(authority: Authority, size: int) -> None:
    received, sent = Received(), bytes(range(256)) * 80
    server, client, outgoing = await open_server(authority, Wire(), received)
    client.write(sent)
    data = outgoing.read()
    for at in range(0, len(data), size):
        server.data_received(data[at : at + size])
    assert received.data == sent


async def test_a_connection_keeps_no_memory_of_a_large_request(authority: Authority) -> None:
    received = Received()
    server, client, outgoing = await open_server(authority, Wire(), received)
    client.write(bytes(240_000))
    data = outgoing.read()
    before = allocated_kib()
    server.data_received(data)
    assert len(received.data) == 240_000
    del data
    received.data = b""
    assert allocated_kib() - before < 64, "OpenSSL keeps as much as it has needed at once"


def change_key(connection: ssl.SSLObject) -> None:
    """Send a record that contains nothing but that."""
    maps = Path("/proc/self/maps")
    if not maps.exists() or "/libssl.so.3\n" not in maps.read_text():
        pytest.skip("needs a Python that shares libssl.so.3")
    library = ctypes.CDLL("libssl.so.3")
    library.SSL_key_update.argtypes = [ctypes.c_void_p, ctypes.c_int]
    library.SSL_do_handshake.argtypes = [ctypes.c_void_p]
    # The second member of the object of the ssl module, after the head of every object and the socket.
    address = id(connection._sslobj) + object.__basicsize__ + 8  # type: ignore[attr-defined]
    pointer = ctypes.c_void_p.from_address(address).value
    assert library.SSL_key_update(pointer, 0) == 1
    library.SSL_do_handshake(pointer)


async def test_records_without_data_are_read_in_many_turns(authority: Authority) -> None:
    wire, received = Wire(), Received()
    server, client, outgoing = await open_server(authority, wire, received)
    for _ in range(100):
        change_key(client)
    client.write(b"x")
    server.data_received(outgoing.read())
    assert (received.data, wire.is_paused) == (b"", True), "each record takes 50 microseconds"
    await eventually(lambda: received.data == b"x")
    assert not wire.is_paused


async def test_a_client_that_continues_to_send_does_not_keep_a_closed_connection(authority: Authority) -> None:
    limits = Limits(stall_timeout_s=0.2)
    async with (
        running(ok, tls=authority.server, limits=limits) as server,
        connected(server, tls=authority.client()) as client,
    ):
        client.send(request("GET", "/", "Connection: close"))
        assert (await client.answer()).status == 200
        for _ in range(1000):
            if not server.connections:
                break
            client.send(b"x" * 1000)
            await asyncio.sleep(0.005)
        assert server.connections == 0


async def test_a_forged_record_is_explained_by_an_alert(authority: Authority) -> None:
    def forge(port: int) -> None:
        with (
            socket.create_connection(("127.0.0.1", port), timeout=10) as raw,
            authority.client().wrap_socket(raw, server_hostname="localhost") as wrapped,
        ):
            wrapped.send(request())
            wrapped.recv(1000)
            os.write(wrapped.fileno(), b"\x17\x03\x03\x00\x20" + bytes(32))
            wrapped.recv(1)

    async with running(ok, tls=authority.server) as server:
        with pytest.raises(ssl.SSLError, match="ALERT_BAD_RECORD_MAC"):
            await asyncio.to_thread(forge, server.port)


async def test_a_client_never_renegotiates(authority: Authority) -> None:
    context = authority.client()
    context.options &= ~ssl.OP_NO_RENEGOTIATION
    TlsTransport(Received(), context, "localhost")
    assert context.options & ssl.OP_NO_RENEGOTIATION


async def test_a_handshake_that_nobody_waits_for_may_fail(authority: Authority) -> None:
    problems: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, problem: problems.append(problem))
    client = TlsTransport(Received(), authority.client(), "localhost")
    client.connection_made(Wire())
    client.connection_lost(None)
    await asyncio.sleep(0)
    del client
    gc.collect()
    assert problems == []


@pytest.mark.skipif(loop_factory() is asyncio.new_event_loop, reason="needs uvloop")
@pytest.mark.parametrize("settings", [{}, {"server_side": True, "server_hostname": "localhost"}])
async def test_tls_in_tls_is_for_clients(authority: Authority, settings: dict[str, Any]) -> None:
    loop, context = loop_factory()(), authority.client()
    try:
        outer = TlsTransport(Received(), context, "localhost")
        with pytest.raises(ValueError, match="server_hostname"):
            await loop.start_tls(outer, Received(), context, **settings)
    finally:
        loop.close()


async def test_a_client_may_close_at_the_same_moment_as_the_server(authority: Authority) -> None:
    loop, unhandled = asyncio.get_running_loop(), list[Any]()
    loop.set_exception_handler(lambda _, context: unhandled.append(context))

    def connect(port: int) -> ssl.SSLSocket:
        client = authority.client().wrap_socket(
            socket.create_connection(("127.0.0.1", port)), server_hostname="localhost"
        )
        client.sendall(request())
        client.recv(1 << 16)
        return client

    async with running(lambda _: Reply(200), tls=authority.server) as server:
        client = await asyncio.to_thread(connect, server.port)
        client.close()
    assert unhandled == []
