"""Requests to one host are spread out as the limit demands; those to other hosts are not."""

from __future__ import annotations

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from homeostat.external.rest.client import RestClient
from homeostat.external.rest.errors import RateExceededError
from homeostat.external.rest.rate import RateLimiter, RatePolicy
from homeostat.external.rest.request import Request
from homeostat.external.rest.settings import RestSettings, Timing
from tests.external.servers import serving


def sent_at(limiter: RateLimiter[str], host: str, asked_at: list[float]) -> list[float]:
    found = []
    for now in asked_at:
        found.append(now + limiter.wait_s(host, now))
        limiter.take(host, now)
    return found


def test_a_burst_is_sent_at_once_and_the_rest_is_spread_out() -> None:
    limiter: RateLimiter[str] = RateLimiter(RatePolicy(per_s=2, burst=3))
    assert sent_at(limiter, "a", [0.0] * 6) == [0, 0, 0, 0.5, 1.0, 1.5]
    assert limiter.wait_s("b", 0.0) == 0


def test_after_a_pause_the_burst_is_available_again() -> None:
    limiter: RateLimiter[str] = RateLimiter(RatePolicy(per_s=2, burst=2))
    assert sent_at(limiter, "a", [0.0, 0.0, 0.0, 10.0, 10.0, 10.0]) == [0, 0, 0.5, 10, 10, 10.5]


@given(
    gaps=st.lists(st.floats(0, 3), min_size=1, max_size=60),
    per_s=st.floats(0.5, 20),
    burst=st.integers(1, 10),
)
def test_in_no_second_more_are_sent_than_the_burst_and_the_rate(gaps: list[float], per_s: float, burst: int) -> None:
    asked, now = [], 0.0
    for gap in gaps:
        now += gap
        asked.append(now)
    sent = sent_at(RateLimiter(RatePolicy(per_s=per_s, burst=burst)), "a", asked)
    assert sent == sorted(sent)
    for first in sent:
        assert len([each for each in sent if first <= each < first + 1]) <= burst + per_s + 1


def test_what_is_remembered_of_hosts_is_bounded() -> None:
    limiter: RateLimiter[int] = RateLimiter(RatePolicy(per_s=1))
    for host in range(20_000):
        limiter.take(host, host * 0.001)
    assert len(limiter) <= 10_000


async def test_a_client_waits_for_its_turn_and_refuses_what_would_come_too_late() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async def answer(_: web.Request) -> web.Response:
        return web.Response()

    settings = RestSettings(rate=RatePolicy(per_s=0.1))
    timing = Timing(seconds=lambda: 0.0, sleep=sleep)
    async with RestClient(settings, timing=timing) as client, serving(answer) as url:
        for _ in range(3):
            assert (await client.send(Request("GET", url))).status == 200
        assert slept == [10.0, 20.0]
        with pytest.raises(RateExceededError, match=r"at most 0\.1 a second"):
            await client.send(Request("GET", url, timeout_s=25))
        assert slept == [10.0, 20.0]
