"""Whatever bytes come, in whatever pieces: the connection answers or ends, and nothing goes wrong inside."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from homeostat.edge.items import Items
from homeostat.edge.loop import loop_factory
from homeostat.edge.reply import Reply, StreamReply
from homeostat.edge.request import Request
from homeostat.edge.server import Answer, Limits
from homeostat.edge.stream import Stream, frame
from tests.edge.connection.test_parser import ACCEPTED, REFUSED
from tests.edge.wire import connected, running

LIMITS = Limits(
    header_bytes=2000,
    body_bytes=3000,
    pipelined=2,
    header_timeout_s=0.04,
    body_timeout_s=0.04,
    idle_timeout_s=0.04,
    stall_timeout_s=0.04,
    linger_s=0.04,
)


async def later(request: Request) -> Answer:
    await asyncio.sleep(0)
    return Reply(200, Items(b"", [request.body] * 3, b""))


def streamed(stream: Stream) -> None:
    stream.send(frame(b"event"))
    asyncio.get_running_loop().call_later(0.01, stream.close)


def handler(request: Request) -> Any:
    match len(request.path) % 4:
        case 0:
            return later(request)
        case 1:
            return Reply(200, request.path.encode())
        case 2:
            return StreamReply(200, streamed)
    raise RuntimeError("a handler's own fault")


VALID = [
    b"%b /%b HTTP/1.1\r\nHost: a\r\n%b\r\n" % (method, b"a" * size, rest)
    for method in (b"GET", b"HEAD", b"POST", b"OPTIONS")
    for size in range(4)
    for rest in (b"", b"Connection: close\r\n", b"Content-Length: 0\r\n", b"Expect: 100-continue\r\n")
]
PIECE = st.one_of(
    st.sampled_from(VALID),
    st.sampled_from([data for data, _ in ACCEPTED.values()]),
    st.sampled_from([data for _, data in REFUSED.values()]),
    st.binary(max_size=200),
    st.integers(1, 4000).map(lambda size: b"x" * size),
)


async def converse(pieces: list[bytes], is_closed_early: bool) -> tuple[list[dict[str, Any]], int]:
    faults: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: faults.append(context))
    async with running(handler, limits=LIMITS) as server, connected(server) as client:
        for piece in pieces:
            client.send(piece)
            await asyncio.sleep(0)
        if is_closed_early:
            client.close()
        answer = await client.rest()
        assert answer == b"" or answer.startswith(b"HTTP/1.1 ")
    return faults, server.connections


@pytest.mark.parametrize("factory", [loop_factory(), asyncio.new_event_loop], ids=["uvloop", "asyncio"])
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(pieces=st.lists(PIECE, max_size=6), is_closed_early=st.booleans())
def test_a_connection_answers_or_ends_and_nothing_goes_wrong_inside(
    factory: Any, pieces: list[bytes], is_closed_early: bool
) -> None:
    with asyncio.Runner(loop_factory=factory) as runner:
        assert runner.run(converse(pieces, is_closed_early)) == ([], 0)
