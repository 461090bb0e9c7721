"""A server as its peers and its handlers see it, over real sockets."""

from __future__ import annotations

import asyncio
import gc
import logging
import socket
import time
from collections import Counter
from contextlib import AsyncExitStack
from functools import partial

import pytest

from homeostat.edge.connection import turns
from homeostat.edge.connection.connection import SLICE, Connection
from homeostat.edge.connection.parser import RequestParser
from homeostat.edge.ids import RequestIds
from homeostat.edge.items import Items
from homeostat.edge.reply import Reply, StreamReply
from homeostat.edge.request import Request
from homeostat.edge.server import Answer, Limits, Server, serve
from tests.edge.wire import connected, eventually, refuse, request, running
from tests.holds import measured_turns


def echo(request: Request) -> Reply:
    return Reply(200, f"{request.method} {request.path} {request.query} ".encode() + request.body, "text/plain")


async def test_a_connection_serves_one_request_after_another() -> None:
    async with running(echo) as server, connected(server) as client:
        for n in range(3):
            answer = await client.get(f"/{n}?q={n}")
            assert (answer.status, answer.body) == (200, f"GET /{n} q={n} ".encode())
        assert answer.headers == {"content-type": "text/plain", "content-length": "11"}
        assert (server.connections, server.requests) == (1, 3)


async def test_an_open_connection_does_not_keep_the_body_of_an_answered_request() -> None:
    def kept() -> int:
        return sum(len(each.body) for each in gc.get_objects() if type(each) is Request)

    async with running(lambda _: Reply(200, b"ok")) as server, connected(server) as client:
        gc.collect()
        before = kept()
        client.send(request("POST", body=b"x" * 100_000))
        assert (await client.answer()).status == 200
        assert kept() == before


async def test_an_answer_given_at_once_costs_no_task() -> None:
    tasks: list[int] = []

    def handler(request: Request) -> Reply:
        tasks.append(len(asyncio.all_tasks()))
        return Reply(200)

    async with running(handler) as server, connected(server) as client:
        before = len(asyncio.all_tasks())
        await client.get()
        assert tasks == [before]
        assert not server._service.tasks


async def test_pipelined_requests_are_answered_in_order_whatever_each_takes() -> None:
    async def later(request: Request) -> Reply:
        await asyncio.sleep(0.01 if request.path.endswith("0") else 0)
        return echo(request)

    def handler(request: Request) -> Reply | asyncio.Future[Answer] | asyncio.Task[Answer]:
        return echo(request) if int(request.path[1:]) % 3 else asyncio.ensure_future(later(request))

    async with running(handler, limits=Limits(pipelined=4)) as server, connected(server) as client:
        client.send(b"".join(request("GET", f"/{n}") for n in range(40)))
        assert [(await client.answer()).body for _ in range(40)] == [f"GET /{n}  ".encode() for n in range(40)]


async def test_reading_stops_while_enough_requests_wait() -> None:
    gate = asyncio.Event()

    async def handler(request: Request) -> Reply:
        await gate.wait()
        return Reply(200)

    body = b"x" * 30_000
    async with running(handler, limits=Limits(pipelined=3)) as server, connected(server) as client:
        sending = 1000
        client.send(request("POST", "/", body=body) * sending)
        await eventually(lambda: server.requests == 1)
        await asyncio.sleep(0.1)
        assert server.counters.bytes_in < 2_000_000
        gate.set()
        for _ in range(sending):
            assert (await client.answer()).status == 200


async def test_a_peer_that_does_not_read_its_answers_is_not_answered_further() -> None:
    reply = Reply(200, b"x" * 60_000)
    async with running(lambda _: reply) as server, connected(server) as client:
        client.send(request() * 400)
        await eventually(lambda: server.requests > 0)
        await asyncio.sleep(0.1)
        assert server.requests < 300
        for _ in range(400):
            assert len((await client.answer()).body) == 60_000


async def test_many_tiny_requests_in_one_packet_are_all_answered() -> None:
    async def handler(request: Request) -> Reply:
        return Reply(200, request.path.encode())

    async with running(handler) as server, connected(server) as client:
        client.send(b"".join(b"GET /%d HTTP/1.1\r\nHost:\r\n\r\n" % n for n in range(5000)))
        for n in range(5000):
            assert (await client.answer()).body == f"/{n}".encode()


@pytest.mark.parametrize("size", [0, 1, 65_536, 65_537, 262_144, 5_000_001])
@pytest.mark.parametrize("parts", [1, 7])
async def test_a_body_arrives_whole_in_parts_and_in_one(size: int, parts: int) -> None:
    whole = bytes(range(256)) * (size // 256 + 1)
    whole = whole[:size]
    step = size // parts + 1
    pieces = [whole[at : at + step] for at in range(0, size, step)]
    body = whole if parts == 1 else Items(b"", pieces, b"", separator=b"")
    async with running(lambda _: Reply(200, body)) as server, connected(server) as client:
        for _ in range(2):
            assert (await client.get()).body == whole


async def test_a_body_of_many_small_parts_arrives_whole() -> None:
    parts = [b"%07d\n" % n for n in range(100_000)]
    async with (
        running(lambda _: Reply(200, Items(b"", parts, b"", separator=b""))) as server,
        connected(server) as client,
    ):
        assert (await client.get()).body == b"".join(parts)


async def test_a_slow_reader_of_a_large_body_makes_the_server_hold_little_of_it() -> None:
    body = b"x" * 50_000_000
    async with running(lambda _: Reply(200, body)) as server, connected(server) as client:
        client.send(request())
        await client.head()
        await asyncio.sleep(0.1)
        # What the two socket buffers hold, and a few pieces.
        assert server.counters.bytes_out < 20_000_000
        async with asyncio.timeout(30):
            assert await client.reader.readexactly(len(body)) == body


async def test_head_is_answered_without_a_body_and_the_connection_continues() -> None:
    async with running(echo) as server, connected(server) as client:
        client.send(request("HEAD", "/a"))
        answer = await client.answer(to_head=True)
        assert answer.headers["content-length"] == str(len(b"HEAD /a  "))
        assert (await client.get("/b")).body == b"GET /b  "


@pytest.mark.parametrize("status", [204, 304])
async def test_a_status_without_body_is_sent_without_length(status: int) -> None:
    async with running(lambda _: Reply(status, b"ignored")) as server, connected(server) as client:
        assert "content-length" not in (await client.get()).headers
        assert (await client.get()).status == status


async def test_connection_close_is_answered_and_obeyed() -> None:
    async with running(echo) as server, connected(server) as client:
        answer = await client.get("/", "Connection: close")
        assert answer.headers["connection"] == "close"
        assert await client.rest() == b""


async def test_http_1_0_closes_unless_asked_to_keep_alive() -> None:
    async with running(echo) as server:
        async with connected(server) as client:
            client.send(b"GET /a HTTP/1.0\r\n\r\n")
            answer = await client.answer()
            assert (answer.body, answer.headers["connection"]) == (b"GET /a  ", "close")
            assert await client.rest() == b""
        async with connected(server) as client:
            for _ in range(2):
                client.send(b"GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
                assert (await client.answer()).headers["connection"] == "keep-alive"


async def test_a_body_held_back_is_asked_for() -> None:
    async with running(echo) as server, connected(server) as client:
        client.send(b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        assert (await client.answer()).status == 100
        client.send(b"ab")
        assert (await client.answer()).body == b"POST /  ab"


async def test_a_body_held_back_is_asked_for_after_the_answers_before_it() -> None:
    async def handler(request: Request) -> Reply:
        await asyncio.sleep(0.02)
        return echo(request)

    async with running(handler) as server, connected(server) as client:
        client.send(request("GET", "/first"))
        client.send(b"POST /second HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        assert (await client.answer()).body == b"GET /first  "
        assert (await client.answer()).status == 100
        client.send(b"ab")
        assert (await client.answer()).body == b"POST /second  ab"


async def test_a_body_too_large_is_refused_before_it_is_sent() -> None:
    async with running(echo, limits=Limits(body_bytes=10)) as server, connected(server) as client:
        client.send(b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 11\r\n\r\n")
        assert (await client.answer()).status == 413


async def test_a_refusal_is_worded_by_the_owner_and_ends_the_connection() -> None:
    async with running(echo) as server, connected(server) as client:
        client.send(request("GET", "/before") + b"GET / HTTP/1.1\r\n\r\n" + request("GET", "/after"))
        assert (await client.answer()).body == b"GET /before  "
        answer = await client.answer()
        assert (answer.status, answer.headers["connection"]) == (400, "close")
        assert answer.body == b"refused 400: header Host is missing"
        assert await client.rest() == b""
        assert (server.requests, server.counters.refused) == (1, 1)


async def test_a_refusal_arrives_although_the_peer_continues_to_send() -> None:
    async with running(echo, limits=Limits(body_bytes=1000)) as server, connected(server) as client:
        client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4000000\r\n\r\n" + b"x" * 4_000_000)
        assert (await client.answer()).status == 413


async def test_a_handler_that_raises_is_a_500_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    def handler(request: Request) -> Reply:
        raise RuntimeError("secret")

    async with running(handler) as server, connected(server) as client:
        answer = await client.get("/x?token=secret")
        assert (answer.status, answer.body) == (500, b"refused 500: internal error")
        assert (await client.get()).status == 500
        assert server.counters.failed == 2
    assert [record.message for record in caplog.records] == ["request failed"] * 2
    assert "token" not in caplog.text


@pytest.mark.parametrize(
    "reply",
    [
        Reply(200, headers=(("X", "a\r\nSet-Cookie: b"),)),
        Reply(200, headers=(("X: a\r\nY", "b"),)),
        Reply(200, content_type="text/plain\r\n\r\n<script>"),
        Reply(200, headers=(("X", "a\0"),)),
        Reply(200, headers=(("X", "日本"),)),
        Reply(200, headers=(("Content-Length", "3"),)),
        Reply(200, headers=(("Transfer-Encoding", "chunked"),)),
        Reply(200, headers=(("", "a"),)),
        Reply(100),
        StreamReply(200, lambda stream: stream.close(), headers=(("X", "a\nb"),)),
        None,
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
async def test_an_answer_that_cannot_be_sent_safely_is_500(reply: Answer, is_async: bool) -> None:
    async def later(request: Request) -> Answer:
        return reply

    async with running(later if is_async else lambda _: reply) as server, connected(server) as client:
        answer = await client.get()
        assert (answer.status, server.counters.failed) == (500, 1)
        assert "set-cookie" not in answer.headers


async def test_a_refusal_that_fails_is_still_a_refusal(caplog: pytest.LogCaptureFixture) -> None:
    def broken(status: int, message: str) -> Reply:
        raise KeyError(status)

    server = await serve(echo, refuse=broken)
    async with connected(server) as client:
        client.send(b"nonsense\r\n\r\n")
        assert (await client.answer()).status == 501
    await server.stop()
    assert [record.message for record in caplog.records] == ["failed to build error response"]


async def test_a_peer_that_goes_away_takes_its_task_with_it() -> None:
    cancelled = asyncio.Event()

    async def handler(request: Request) -> Reply:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return Reply(200)

    async with running(handler) as server:
        async with connected(server) as client:
            client.send(request())
            await eventually(lambda: server.requests == 1)
        async with asyncio.timeout(30):
            await cancelled.wait()
        await eventually(lambda: server.connections == 0)


async def test_a_task_cancelled_before_it_ran_leaves_nothing_behind() -> None:
    """The peer's last bytes and its leaving may be read in one go."""

    async def handler(request: Request) -> Reply:
        return Reply(200)

    async with running(handler) as server:
        for _ in range(20):
            async with connected(server) as client:
                client.send(request())
                client.writer.write_eof()
                await client.rest()
        await eventually(lambda: server.connections == 0)
        assert (server.requests, server._service.tasks) == (20, set())


async def test_a_task_that_fails_after_its_peer_went_away_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def handler(request: Request) -> Reply:
        try:
            await asyncio.sleep(60)
        finally:
            raise RuntimeError("while cleaning up")

    async with running(handler) as server:
        async with connected(server) as client:
            client.send(request())
            await eventually(lambda: server.requests == 1)
        await eventually(lambda: server.counters.failed == 1)
    assert [record.message for record in caplog.records] == ["request failed"]


async def test_a_handler_may_answer_with_a_future() -> None:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Answer] = loop.create_future()
    async with running(lambda _: future) as server, connected(server) as client:
        client.send(request())
        await eventually(lambda: server.requests == 1)
        future.set_result(Reply(200, b"later"))
        assert (await client.answer()).body == b"later"


async def test_a_request_whose_work_is_cancelled_by_others_is_cut_off() -> None:
    async def handler(request: Request) -> Reply:
        raise asyncio.CancelledError

    async with running(handler) as server, connected(server) as client:
        client.send(request())
        assert await client.rest() == b""


async def test_the_end_of_the_input_ends_the_connection_after_what_was_answered() -> None:
    async with running(echo) as server, connected(server) as client:
        client.send(request("GET", "/a"))
        client.writer.write_eof()
        assert (await client.answer()).body == b"GET /a  "
        assert await client.rest() == b""


async def test_a_connection_too_many_is_refused_with_503_if_all_are_busy() -> None:
    is_over = asyncio.Event()

    async def handler(_: Request) -> Reply:
        await is_over.wait()
        return Reply(200, b"")

    async with running(handler, limits=Limits(max_connections=2)) as server:
        async with connected(server) as one, connected(server) as two:
            for each in (one, two):
                each.send(request())
            await eventually(lambda: server.requests == 2)
            async with connected(server) as three:
                assert (await three.answer()).status == 503
            is_over.set()
            assert [(await each.answer()).status for each in (one, two)] == [200, 200]
        await eventually(lambda: server.connections == 0)


async def test_clients_that_only_connect_keep_nobody_out() -> None:
    limits = Limits(max_connections=100)
    async with running(echo, limits=limits) as server, connected(server) as honest:
        assert (await honest.get()).status == 200
        async with AsyncExitStack() as stack:
            silent = [await stack.enter_async_context(connected(server)) for _ in range(150)]
            silent[-1].send(b"GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ")
            async with connected(server) as another:
                assert (await another.get()).status == 200
            assert (await honest.get()).status == 200
            assert server.connections <= 100
            assert await silent[0].rest() == b""


@pytest.mark.parametrize(
    "begun",
    [b"GET / HTTP/1.1\r\nX: ", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\na"],
    ids=["headers", "body"],
)
async def test_clients_whose_requests_never_arrive_keep_nobody_out(begun: bytes) -> None:
    limits = Limits(max_connections=4, late_after_s=0.01)
    async with running(echo, limits=limits) as server, AsyncExitStack() as stack:
        slow = [await stack.enter_async_context(connected(server)) for _ in range(4)]
        for each in slow:
            assert (await each.get()).status == 200
            each.send(begun)
        await eventually(lambda: server.counters.bytes_in >= 4 * len(request() + begun))

        async def status() -> int:
            async with connected(server) as another:
                return (await another.get()).status

        async with asyncio.timeout(30):
            while await status() == 503:
                pass
        assert server.counters.cut_off


async def test_clients_that_do_not_read_keep_nobody_out() -> None:
    def handler(asked: Request) -> Reply:
        return Reply(200, bytes(10_000_000) if asked.path == "/large" else b"")

    limits = Limits(max_connections=4, late_after_s=0.01)
    async with running(handler, limits=limits) as server, AsyncExitStack() as stack:
        for _ in range(4):
            slow = await stack.enter_async_context(connected(server, read_limit=1))
            slow.send(request("GET", "/large"))

        async def status() -> int:
            async with connected(server) as another:
                return (await another.get()).status

        async with asyncio.timeout(30):
            while await status() == 503:
                pass
        assert server.counters.cut_off == 1


async def test_an_idle_connection_gives_way_to_a_new_one_and_a_busy_one_does_not() -> None:
    is_over = asyncio.Event()

    async def handler(asked: Request) -> Reply:
        if asked.path == "/wait":
            await is_over.wait()
        return Reply(200, b"")

    async with (
        running(handler, limits=Limits(max_connections=3)) as server,
        connected(server) as busy,
        connected(server) as idle,
        connected(server) as upload,
    ):
        busy.send(request("GET", "/wait"))
        assert (await idle.get()).status == 200
        upload.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\na")
        await eventually(lambda: server.counters.bytes_in >= 2 * len(request("GET", "/wait")))
        async with connected(server) as new:
            assert (await new.get()).status == 200
            assert await idle.rest() == b""
            upload.send(b"b")
            assert (await upload.answer()).status == 200
            is_over.set()
            assert (await busy.answer()).status == 200


async def test_the_peer_is_known_by_its_address() -> None:
    def handler(request: Request) -> Reply:
        peer = request.peer
        return Reply(200, f"{peer.address} {peer.is_tls} {peer.certificate!r}".encode())

    async with running(handler) as server, connected(server) as client:
        assert (await client.get()).body == b"127.0.0.1 False None"


async def test_ipv6_is_served() -> None:
    if not socket.has_ipv6:
        pytest.skip("no IPv6: a kernel with it")
    try:
        server = await serve(echo, host="::1", refuse=refuse)
    except OSError:
        pytest.skip("no IPv6: sysctl net.ipv6.conf.lo.disable_ipv6=0")
    _, writer = await asyncio.open_connection("::1", server.port)
    writer.transport.abort()
    await server.stop()


async def test_nothing_is_logged_for_what_peers_do_wrong(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="homeostat")
    async with running(echo) as server:
        for data in (b"\0\1\2", b"GET / HTTP/9.9\r\n\r\n", request() + b"\r\n\r\nrubbish\n"):
            async with connected(server) as client:
                client.send(data)
                await client.rest()
    assert caplog.records == []


async def test_a_client_that_pipelines_does_not_delay_others() -> None:
    order: list[str] = []

    def handler(request: Request) -> Reply:
        order.append(request.path)
        return Reply(200)

    async with running(handler) as server, connected(server) as greedy, connected(server) as other:
        await other.get("/before")
        greedy.send(b"GET /greedy HTTP/1.1\r\nHost:\r\n\r\n" * 20_000)
        reading = asyncio.create_task(greedy.reader.read(-1))
        await eventually(lambda: len(order) > 1)
        answered = len(order)
        await other.get("/other")
        assert order.index("/other") - answered < 1_000
        reading.cancel()


async def test_all_of_many_clients_that_pipeline_advance_together() -> None:
    counts: Counter[str] = Counter()
    spread: list[int] = []

    def handler(request: Request) -> Reply:
        counts[request.path] += 1
        if counts.total() == 2_000:
            spread.extend(counts.values())
        return Reply(200)

    async with running(handler) as server, AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(connected(server)) for _ in range(8)]
        for number, client in enumerate(clients):
            client.send(b"GET /%d HTTP/1.1\r\nHost:\r\n\r\n" % number * 1_000)
        for client in clients:
            for _ in range(1_000):
                assert (await client.answer()).status == 200
    assert max(spread) - min(spread) < 200


async def test_requests_pipelined_before_the_end_of_the_input_are_answered() -> None:
    async with running(echo) as server, connected(server) as client:
        client.send(b"".join(b"GET /%d HTTP/1.1\r\nHost:\r\n\r\n" % number for number in range(200)))
        client.writer.write_eof()
        assert (await client.rest()).count(b"HTTP/1.1 200 OK") == 200


async def test_every_response_names_the_id_of_its_request_and_has_the_lines_of_the_reply() -> None:
    seen: list[str] = []

    def handler(request: Request) -> Answer:
        seen.append(request.id)
        if request.path == "/stream":
            return StreamReply(200, lambda stream: stream.close(), lines=b"X-Own: stream\r\n")
        if request.path == "/failure":
            raise ValueError
        return Reply(200, lines=b"X-Own: reply\r\n")

    server = await serve(handler, ids=RequestIds("Audit-Id"), refuse=refuse)
    async with connected(server) as client:
        for target, own in (("/", "reply"), ("/stream", "stream"), ("/failure", None)):
            answer = await client.get(target)
            assert answer.headers["audit-id"] == seen[-1]
            assert answer.headers.get("x-own") == own
        assert seen[-1] in answer.body.decode()
        assert len(set(seen)) == 3
        assert (await client.get("/", "Audit-Id: mine-1")).headers["audit-id"] == "mine-1"
        assert (await client.get("/", "Audit-Id: a b")).headers["audit-id"] != "a b"
    await server.stop()


def has_received(server: Server, size: int) -> bool:
    return server.counters.bytes_in >= size


async def test_bodies_of_all_connections_together_are_bounded_and_the_oldest_upload_is_refused() -> None:
    limits = Limits(bodies_bytes=2_000_000)
    start = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n"
    async with running(echo, limits=limits) as server, AsyncExitStack() as stack:
        slow = [await stack.enter_async_context(connected(server)) for _ in range(3)]
        for number, client in enumerate(slow, 1):
            client.send(start + b"x" * 800_000)
            await eventually(partial(has_received, server, number * 800_000))
        refused = await slow[0].answer()
        assert (refused.status, b"too many large requests" in refused.body) == (503, True)
        for client in slow[1:]:
            client.send(b"x" * 100_000)
            assert (await client.answer()).status == 200
        async with connected(server) as client:
            client.send(request("POST", body=b"x" * 1_900_000))
            assert (await client.answer()).status == 200
        assert server._service.bodies.total == 0


async def test_a_body_in_tiny_chunks_is_parsed_a_little_in_each_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    turn, parsed = 0, Counter[int]()
    parse = RequestParser.feed

    def feed(parser: RequestParser, data: bytes | memoryview) -> None:
        parsed[turn] += len(data)
        parse(parser, data)

    async def count_turns() -> None:
        nonlocal turn
        while True:
            turn += 1
            await asyncio.sleep(0)

    monkeypatch.setattr(RequestParser, "feed", feed)
    monkeypatch.setattr(turns, "MOST_REQUESTS", 1)
    async with running(echo) as server, connected(server) as client, asyncio.TaskGroup() as tasks:
        counting = tasks.create_task(count_turns())
        head = b"POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        client.send(head + b"1\r\nx\r\n" * 20_000 + b"0\r\n\r\n")
        answer = await client.answer()
        counting.cancel()
    assert answer.body == b"POST /body  " + b"x" * 20_000
    assert max(parsed.values()) <= 3 * SLICE


async def test_requests_of_many_connections_at_once_are_answered_in_many_turns() -> None:
    def handler(request: Request) -> Reply:
        ends_at = time.thread_time() + 0.002
        while time.thread_time() < ends_at:
            pass
        return Reply(200)

    async with running(handler) as server, AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(connected(server)) for _ in range(150)]
        async with measured_turns() as turns:
            for client in clients:
                client.send(request("GET"))
            answers = [await client.answer() for client in clients]
    assert {each.status for each in answers} == {200}
    assert turns.longest_s < 0.1, "one turn would take 0.3 s"


async def test_a_request_that_waits_for_its_turn_does_not_pause_reading_and_a_second_one_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turns, "LONGEST_S", 0.0)
    monkeypatch.setattr(turns, "MOST_REQUESTS", 1)
    pauses: Counter[bool] = Counter()
    pace = Connection._pace_reading

    def pace_reading(connection: Connection) -> None:
        pace(connection)
        pauses[connection._is_paused] += 1

    monkeypatch.setattr(Connection, "_pace_reading", pace_reading)
    async with running(echo) as server, AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(connected(server)) for _ in range(20)]
        for client in clients:
            client.send(request("GET"))
        assert {(await client.answer()).status for client in clients} == {200}
        assert not pauses[True]
        for client in clients:
            client.send(request("GET") * 3)
        for client in clients:
            assert [(await client.answer()).status for _ in range(3)] == [200] * 3
        assert pauses[True]
