"""A request is sent again only if that does no harm, no sooner than the server asks, and not without end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from email.utils import formatdate

import pytest
from aiohttp import web

from homeostat.external.rest.client import RestClient
from homeostat.external.rest.errors import NotSentError, ResponseLostError
from homeostat.external.rest.request import Request
from homeostat.external.rest.retry import Failure, RetryPolicy, retry_after_s
from homeostat.external.rest.settings import RestSettings, Timing
from tests.external.rest.raw import OK, read_head, reset, speaking
from tests.external.servers import serving

NOW_S = 1_800_000_000.0
POLICY = RetryPolicy(attempts=4, first_s=1.0, cap_s=3.0)


class Sleeps:
    """Time that passes only by sleeping."""

    def __init__(self) -> None:
        self.taken: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.taken.append(seconds)

    def timing(self, chance: float = 0.0) -> Timing:
        return Timing(seconds=lambda: sum(self.taken), wall_s=lambda: NOW_S, sleep=self.sleep, chance=lambda: chance)


@pytest.fixture
def sleeps() -> Sleeps:
    return Sleeps()


def client(sleeps: Sleeps) -> RestClient:
    return RestClient(RestSettings(retry=POLICY), timing=sleeps.timing())


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "17"}, 17.0),
        ({"retry-after": " 0 "}, 0.0),
        ({"retry-after": formatdate(NOW_S + 90, usegmt=True)}, 90.0),
        ({"retry-after": formatdate(NOW_S - 90, usegmt=True)}, 0.0),
        ({"retry-after": formatdate(NOW_S + 90, usegmt=True), "date": formatdate(NOW_S + 60, usegmt=True)}, 30.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "9" * 400}, None),
        ({"retry-after": "Fri, 99 Foo 2026 00:00:00 GMT"}, None),
    ],
)
def test_retry_after_has_two_forms(headers: dict[str, str], expected: float | None) -> None:
    assert retry_after_s(headers, NOW_S) == expected


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        pytest.param(Failure(attempt=1, status=503, left_s=60), 1.0, id="first"),
        pytest.param(Failure(attempt=2, status=None, left_s=60), 2.0, id="doubled"),
        pytest.param(Failure(attempt=3, status=429, left_s=60), 3.0, id="capped"),
        pytest.param(Failure(attempt=4, status=503, left_s=60), None, id="the-last"),
        pytest.param(Failure(attempt=1, status=500, left_s=60), None, id="an-answer"),
        pytest.param(Failure(attempt=1, status=404, left_s=60), None, id="a-refusal"),
        pytest.param(Failure(attempt=1, status=429, asked_s=20, left_s=60), 20.0, id="asked"),
        pytest.param(Failure(attempt=1, status=429, asked_s=70, left_s=60), None, id="too-long"),
    ],
)
def test_the_policy_decides(failure: Failure, expected: float | None) -> None:
    assert POLICY.wait_s(failure, 0.0) == expected


@pytest.mark.parametrize("chance", [0.0, 0.3, 0.999])
def test_a_wait_is_spread_and_never_shorter_than_asked(chance: float) -> None:
    own = POLICY.wait_s(Failure(attempt=2, status=503, left_s=60), chance)
    asked = POLICY.wait_s(Failure(attempt=2, status=503, asked_s=5.0, left_s=60), chance)
    assert own == pytest.approx(2.0 - chance)
    assert asked is not None
    assert 5.0 <= asked <= 6.0


FORMS: dict[str, Callable[[], str]] = {
    "seconds": lambda: "7",
    "a date": lambda: formatdate(NOW_S + 7, usegmt=True),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
async def test_a_server_that_asks_for_a_wait_gets_it(sleeps: Sleeps, form: Callable[[], str]) -> None:
    asked = 0

    async def busy(_: web.Request) -> web.Response:
        nonlocal asked
        asked += 1
        headers = {"Retry-After": form(), "Date": formatdate(NOW_S, usegmt=True)}
        return web.Response(status=429, headers=headers) if asked < 3 else web.Response()

    async with client(sleeps) as rest, serving(busy) as url:
        response = await rest.send(Request("GET", url))
    assert (response.status, asked, sleeps.taken) == (200, 3, [7.0, 7.0])


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (Request("GET", ""), 4),
        (Request("PUT", "", body=b"x"), 4),
        (Request("DELETE", ""), 4),
        (Request("POST", "", body=b"x"), 1),
        (Request("PATCH", "", body=b"x"), 1),
        (Request("POST", "", body=b"x", idempotent=True), 4),
        (Request("GET", "", idempotent=False), 1),
    ],
)
async def test_only_what_may_be_repeated_is_sent_again(sleeps: Sleeps, request_: Request, expected: int) -> None:
    asked = 0

    async def unwell(_: web.Request) -> web.Response:
        nonlocal asked
        asked += 1
        return web.Response(status=503)

    async with client(sleeps) as rest, serving(unwell) as url:
        given = Request(request_.method, url, body=request_.body, idempotent=request_.idempotent)
        assert (await rest.send(given)).status == 503
    assert asked == expected


async def test_a_longer_wait_than_is_left_hands_the_response_on(sleeps: Sleeps) -> None:
    async def later(_: web.Request) -> web.Response:
        return web.Response(status=503, headers={"Retry-After": "3600"})

    async with client(sleeps) as rest, serving(later) as url:
        response = await rest.send(Request("GET", url, timeout_s=30))
    assert (response.status, response.headers["retry-after"], sleeps.taken) == (503, "3600", [])


async def test_a_connection_that_broke_is_opened_again(sleeps: Sleeps) -> None:
    connections = 0

    async def second_time(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await read_head(reader)
        if connections == 1:
            reset(writer)
        else:
            writer.write(OK)

    async with client(sleeps) as rest, speaking(second_time) as host:
        assert (await rest.send(Request("PUT", f"http://{host}/", body=b"x"))).body == b"ok"
    assert connections == 2


async def test_that_the_last_attempt_was_not_sent_does_not_hide_that_one_before_was(sleeps: Sleeps) -> None:
    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        server.close()
        reset(writer)

    server = await asyncio.start_server(once, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with client(sleeps) as rest:
        with pytest.raises(ResponseLostError, match="cannot connect"):
            await rest.send(Request("PUT", f"http://127.0.0.1:{port}/", body=b"x"))
    await server.wait_closed()


async def test_a_refused_connection_is_retried_until_the_last_attempt(sleeps: Sleeps) -> None:
    async with client(sleeps) as rest:
        with pytest.raises(NotSentError, match="cannot connect"):
            await rest.send(Request("GET", "http://127.0.0.1:1/"))
    assert sleeps.taken == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("status", "asked_s", "retries_refused", "is_retried"),
    [
        (429, 1.0, True, True),
        (503, 1.0, True, True),
        (503, None, True, False),
        (502, 1.0, True, False),
        (429, 1.0, False, False),
    ],
)
def test_a_request_that_is_not_idempotent_is_retried_only_if_it_was_refused_for_now(
    status: int, asked_s: float | None, retries_refused: bool, is_retried: bool
) -> None:
    policy = RetryPolicy(attempts=4, retries_refused=retries_refused)
    failure = Failure(attempt=1, status=status, asked_s=asked_s, left_s=60.0, is_idempotent=False)
    assert (policy.wait_s(failure, 0.0) is not None) is is_retried
