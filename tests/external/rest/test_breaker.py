"""After failures in a row nobody waits for a host for a while; then one request finds out."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from homeostat.external.rest.breaker import BreakerPolicy, CircuitBreaker
from homeostat.external.rest.client import RestClient
from homeostat.external.rest.errors import BreakerOpenError, ResponseLostError, RestError
from homeostat.external.rest.request import Request
from homeostat.external.rest.settings import RestSettings, Timing
from tests.external.rest.raw import OK, read_head, reset, speaking
from tests.external.servers import serving

POLICY = BreakerPolicy(failures=3, open_s=30.0)


def opened() -> CircuitBreaker[str]:
    breaker = CircuitBreaker[str](POLICY)
    for _ in range(POLICY.failures):
        assert breaker.admit("a", 100.0) == 0.0
        breaker.failed("a", 100.0)
    return breaker


def test_it_opens_after_failures_in_a_row_and_for_that_host_alone() -> None:
    breaker = opened()
    assert (breaker.admit("a", 110.0), breaker.admit("b", 110.0)) == (20.0, 0.0)


def test_a_host_that_answered_elsewhere_is_probed_once_early() -> None:
    breaker = opened()
    breaker.half_open("a", 101.0)
    breaker.half_open("b", 101.0)
    assert (breaker.admit("a", 101.0), breaker.admit("a", 101.0)) == (0.0, 30.0)
    breaker.failed("a", 102.0)
    assert breaker.admit("a", 103.0) == 29.0


def test_a_success_in_between_starts_the_count_again() -> None:
    breaker = CircuitBreaker[str](POLICY)
    for _ in range(10):
        breaker.failed("a", 0.0)
        breaker.failed("a", 0.0)
        breaker.succeeded("a")
    assert (breaker.admit("a", 0.0), len(breaker)) == (0.0, 0)


def test_half_open_one_request_goes_through() -> None:
    breaker = opened()
    assert [breaker.admit("a", 130.0) for _ in range(3)] == [0.0, 30.0, 30.0]


@pytest.mark.parametrize(("end", "expected"), [("succeeded", 0.0), ("failed", 30.0), ("released", 0.0)])
def test_the_probe_decides(end: str, expected: float) -> None:
    breaker = opened()
    assert breaker.admit("a", 130.0) == 0.0
    {
        "succeeded": lambda: breaker.succeeded("a"),
        "failed": lambda: breaker.failed("a", 130.0),
        "released": lambda: breaker.released("a"),
    }[end]()
    assert breaker.admit("a", 130.0) == expected


@given(st.lists(st.sampled_from(["succeeded", "failed", "released"]), max_size=40))
def test_whatever_happens_a_host_is_tried_again_after_the_time(ends: list[str]) -> None:
    breaker, now = CircuitBreaker[str](POLICY), 0.0
    for end in ends:
        wait_s = breaker.admit("a", now)
        assert wait_s <= POLICY.open_s
        if wait_s:
            now += wait_s
            assert breaker.admit("a", now) == 0.0
        if end == "failed":
            breaker.failed("a", now)
        else:
            getattr(breaker, end)("a")


async def test_a_host_that_hangs_up_gets_no_requests_until_it_is_well() -> None:
    now, asked, is_well = 0.0, 0, False

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        await read_head(reader)
        asked += 1
        if not is_well:
            reset(writer)
        else:
            writer.write(OK)
            await writer.drain()

    async with (
        RestClient(RestSettings(breaker=POLICY), timing=Timing(seconds=lambda: now)) as client,
        speaking(serve) as host,
    ):
        request = Request("POST", f"http://{host}/", body=b"x")

        async def outcome() -> str:
            try:
                return str((await client.send(request)).status)
            except RestError as error:
                return type(error).__name__

        assert [await outcome() for _ in range(5)] == ["ResponseLostError"] * 3 + ["BreakerOpenError"] * 2
        now += 30.0
        assert [await outcome() for _ in range(2)] == ["ResponseLostError", "BreakerOpenError"]
        now, is_well = now + 30.0, True
        assert [await outcome() for _ in range(2)] == ["200", "200"]
    assert asked == 6


async def test_a_host_that_does_not_answer_in_time_is_unwell_and_one_that_refuses_is_not() -> None:
    async def answer(request: web.Request) -> web.Response:
        if request.path == "/slow":
            await asyncio.sleep(60)
        return web.Response(status=404)

    async with RestClient(RestSettings(breaker=POLICY)) as client, serving(answer) as url:
        for _ in range(6):
            assert (await client.send(Request("GET", url))).status == 404
        for _ in range(3):
            with pytest.raises(ResponseLostError):
                await client.send(Request("GET", f"{url}/slow", timeout_s=0.1))
        with pytest.raises(BreakerOpenError, match=r"failed 3 times in a row; will retry soon$") as error:
            await client.send(Request("GET", url))
    assert 0 < error.value.after_s <= 30


async def test_a_caller_that_gives_up_says_nothing_about_the_host() -> None:
    async def slow(_: web.Request) -> web.Response:
        await asyncio.sleep(60)
        return web.Response()

    async with RestClient(RestSettings(breaker=POLICY)) as client, serving(slow) as url:
        for _ in range(5):
            task = asyncio.create_task(client.send(Request("GET", url)))
            await asyncio.sleep(0.01)
            task.cancel()
            assert isinstance((await asyncio.gather(task, return_exceptions=True))[0], asyncio.CancelledError)
        with pytest.raises(ResponseLostError):
            await client.send(Request("GET", url, timeout_s=0.1))


async def test_a_probe_that_its_caller_cancels_does_not_keep_the_breaker_open() -> None:
    now_s, asked = 0.0, asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path == "/slow":
            asked.set()
            await asyncio.Event().wait()
        return web.Response(status=503 if request.path == "/failing" else 200)

    settings = RestSettings(breaker=BreakerPolicy(failures=1, open_s=30.0))
    async with serving(answer) as url, RestClient(settings, timing=Timing(seconds=lambda: now_s)) as client:
        assert (await client.send(Request("GET", f"{url}/failing"))).status == 503
        now_s = 31.0
        probe = asyncio.create_task(client.send(Request("GET", f"{url}/slow")))
        await asked.wait()
        probe.cancel()
        with pytest.raises(asyncio.CancelledError):
            await probe
        assert (await client.send(Request("GET", f"{url}/"))).status == 200
