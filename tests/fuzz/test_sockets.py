"""A plane at the end of a wire: what cannot be read, does not end or never begins costs its sender the connection."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import msgspec
import pytest
import pytest_asyncio

from homeostat.edge.limits import Limits
from homeostat.plane import Plane, Settings, open_plane
from tests.api.objects import CONFIGMAPS
from tests.edge.wire import Answered, connected, eventually

pytestmark = pytest.mark.asyncio(loop_scope="module")

SHORT_S = 0.2
LIMITS = Limits(
    max_connections=200,
    header_timeout_s=SHORT_S,
    body_timeout_s=SHORT_S,
    idle_timeout_s=1.0,
    stall_timeout_s=SHORT_S,
    linger_s=0.05,
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def plane(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plane]:
    settings = Settings(
        data=tmp_path_factory.mktemp("wire"), port=0, is_open=True, limits=LIMITS, operators=frozenset()
    )
    async with open_plane(settings) as plane:
        yield plane


def get(target: bytes = CONFIGMAPS.encode(), *lines: bytes) -> bytes:
    return b"\r\n".join([b"GET %b HTTP/1.1" % target, b"Host: localhost", *lines, b"", b""])


def post(body: bytes, *lines: bytes) -> bytes:
    head = [b"POST %b HTTP/1.1" % CONFIGMAPS.encode(), b"Host: localhost", *lines]
    return b"\r\n".join([*head, b"Content-Length: %d" % len(body), b"", body])


def assert_refused(answer: Answered, *codes: int) -> None:
    status = msgspec.json.decode(answer.body)
    assert answer.status in codes, answer
    assert (status["kind"], status["status"], status["code"]) == ("Status", "Failure", answer.status)


async def ask(plane: Plane, data: bytes) -> Answered:
    assert plane.server is not None
    async with connected(plane.server) as client:
        client.send(data)
        return await client.answer()


UNREADABLE = {
    "no HTTP": (b"hello\r\n\r\n", 400, 501),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, 501),
    "an unknown method": (b"BREW / HTTP/1.1\r\nHost: localhost\r\n\r\n", 501),
    "another version": (b"GET / HTTP/3.0\r\nHost: localhost\r\n\r\n", 400, 505),
    "no host": (b"GET / HTTP/1.1\r\n\r\n", 400),
    "two hosts": (get(b"/", b"Host: localhost"), 400),
    "another host": (b"GET /api HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403),
    "a NUL in the path": (get(b"/api\0"), 400),
    "a space in the path": (get(b"/api v1"), 400),
    "an encoded NUL": (get(b"/api/v1/namespaces/%00/configmaps"), 400),
    "invalid UTF-8, encoded": (get(CONFIGMAPS.encode() + b"/%ff"), 400),
    "invalid UTF-8 in the path": (get(CONFIGMAPS.encode() + b"/\xff"), 400, 404),
    "invalid UTF-8 in the query": (get(CONFIGMAPS.encode() + b"?labelSelector=%ff"), 400),
    "raw bytes in the query": (get(CONFIGMAPS.encode() + b"?labelSelector=\xff\xfe"), 400),
    "dots": (get(b"/api/../../etc/passwd"), 400, 404),
    "no path": (get(b"api"), 400),
    "a long path": (get(b"/" + b"a" * 17_000), 414),
    "a long header": (get(b"/", b"X: " + b"a" * 70_000), 431),
    "many headers": (get(b"/", *(b"X%d: a" % at for at in range(300))), 431),
    "a NUL in a header": (get(b"/", b"X: a\0b"), 400),
    "a header without a name": (get(b"/", b": a"), 400),
    "two lengths": (post(b"{}", b"Content-Length: 5"), 400),
    "a length and chunks": (post(b"{}", b"Transfer-Encoding: chunked"), 400),
    "a negative length": (get(b"/", b"Content-Length: -1"), 400),
    "a huge length": (get(b"/", b"Content-Length: 99999999999999999999"), 400, 413),
    "an unknown coding": (get(b"/", b"Transfer-Encoding: gzip"), 400, 501),
    "a wrong chunk": (get(b"/", b"Transfer-Encoding: chunked") + b"zz\r\n", 400),
    "more than 3 MiB": (post(b" " * (3 * 2**20 + 1)), 413),
    "more than 3 MiB, announced": (get(b"/", b"Content-Length: 3145729", b"Expect: 100-continue"), 413),
    "more than 3 MiB in chunks": (
        get(b"/", b"Transfer-Encoding: chunked") + b"100000\r\n%b\r\n" % (b" " * 2**20) * 4,
        413,
    ),
    "an expectation": (get(b"/", b"Expect: tea"), 417),
    "invalid UTF-8 in the body": (post(b'{"a":"\xff"}'), 400),
    "a strange type": (post(b"{}", b"Content-Type: \xff\xfe"), 415),
    "nothing accepted": (get(CONFIGMAPS.encode(), b"Accept: \xff"), 406),
}


@pytest.mark.parametrize("case", UNREADABLE.values(), ids=UNREADABLE)
async def test_what_cannot_be_read_is_refused_with_a_status(plane: Plane, case: tuple[bytes, *tuple[int, ...]]) -> None:
    data, *codes = case
    before = plane.store.revision
    assert_refused(await ask(plane, data), *codes)
    assert plane.store.revision == before


SLOW = {
    "a request line": (b"GET /", b"a"),
    "headers": (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ", b"a"),
    "a body": (b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n", b" "),
    "chunks": (b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    "half a request": (b"GET / HT", b""),
}


@pytest.mark.parametrize(("start", "more"), SLOW.values(), ids=SLOW)
async def test_a_request_that_trickles_in_is_refused_while_others_are_served(
    plane: Plane, start: bytes, more: bytes
) -> None:
    server = plane.server
    assert server is not None
    async with AsyncExitStack() as stack:
        slow = [await stack.enter_async_context(connected(server)) for _ in range(30)]
        for client in slow:
            client.send(start)
        refusals = asyncio.gather(*(client.answer() for client in slow))
        while not refusals.done():
            for client in slow:
                client.send(more)
            assert (await ask(plane, get(b"/livez"))).status == 200
            await asyncio.sleep(0.02)
        for refusal in await refusals:
            assert_refused(refusal, 408)
    await eventually(lambda: server.connections == 0)


async def test_a_peer_that_hangs_up_halfway_leaves_nothing(plane: Plane) -> None:
    server = plane.server
    assert server is not None
    halves = [b"", b"GET", get()[:-2], post(b"{}")[:-1], get(CONFIGMAPS.encode() + b"?watch=1")]
    before = plane.store.revision
    for data in halves * 10:
        async with connected(server) as client:
            client.send(data)
            client.writer.write_eof()
            await client.rest()
    await eventually(lambda: server.connections == 0 and len(plane.watches) == 0)
    assert plane.store.revision == before


async def test_watchers_that_do_not_read_are_cut_off_and_writers_do_not_wait(plane: Plane) -> None:
    server = plane.server
    assert server is not None
    async with AsyncExitStack() as stack:
        for _ in range(20):
            client = await stack.enter_async_context(connected(server, read_limit=1))
            client.send(get(CONFIGMAPS.encode() + b"?watch=1"))
        await eventually(lambda: len(plane.watches) == 20)
        obj = {"metadata": {"name": "big"}, "data": {"a": "x" * 900_000}}
        await plane.client.create(CONFIGMAPS, obj)
        for at in range(15):
            patch = {"data": {"b": str(at)}}
            await plane.client.merge(f"{CONFIGMAPS}/big", patch)
        await eventually(lambda: len(plane.watches) == 0)


async def test_connections_beyond_the_limit_give_way_to_new_ones(plane: Plane) -> None:
    server = plane.server
    assert server is not None
    async with AsyncExitStack() as stack:
        for _ in range(LIMITS.max_connections + 100):
            await stack.enter_async_context(connected(server))
        await eventually(lambda: server.connections <= LIMITS.max_connections)
        assert (await ask(plane, get(b"/livez"))).status == 200
    await eventually(lambda: server.connections == 0)


async def test_idle_connections_end_by_themselves(plane: Plane) -> None:
    server = plane.server
    assert server is not None
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(connected(server)) for _ in range(150)]
        for client in clients:
            assert await client.rest() == b""
        await eventually(lambda: server.connections == 0)


async def test_a_handshake_that_never_ends_does(tmp_path_factory: pytest.TempPathFactory) -> None:
    data = tmp_path_factory.mktemp("tls")
    async with open_plane(Settings(data=data, port=0, limits=LIMITS, operators=frozenset())) as plane:
        assert plane.server is not None
        async with AsyncExitStack() as stack:
            halves = (b"", b"\x16\x03\x01\x02\x00\x01", get(), b"\x16\x03\x01\x40\x00" + b"\0" * 1000)
            clients = [await stack.enter_async_context(connected(plane.server)) for _ in range(40)]
            for at, client in enumerate(clients):
                client.send(halves[at % len(halves)])
            for client in clients:
                await client.rest()
        tls = ssl.create_default_context(cafile=data / "pki" / "ca.crt")
        tls.load_cert_chain(data / "pki" / "admin.crt", data / "pki" / "admin.key")
        async with connected(plane.server, tls=tls) as client:
            client.send(get())
            assert (await client.answer()).status == 200
