"""The query parameters of a call: an invalid value is refused, and the message says what is expected."""

from __future__ import annotations

import time

import pytest

from homeostat.objects.errors import BadRequestError
from homeostat.server.request.options import check_timeout, parse_options


def test_a_query_that_was_seen_before_is_not_parsed_again() -> None:
    query = "limit=500&labelSelector=app%3Dweb&timeout=30s"
    assert parse_options(query) is parse_options(query)


@pytest.mark.parametrize("given", ["", "0", "30s", "1m30s", "1.5h", "+5ms", "-1s"])
def test_a_timeout_is_a_duration(given: str) -> None:
    check_timeout(given)


@pytest.mark.parametrize("given", ["soon", "5", "s", "1s ", "1d", "\u0665s", "1.", ".s"])
def test_any_other_timeout_is_refused(given: str) -> None:
    with pytest.raises(BadRequestError, match=r'invalid timeout .* expected a duration such as "30s"'):
        check_timeout(given)


@pytest.mark.parametrize("given", ["1" * 30_000, "+" + "1." * 15_000, "1m" * 15_000 + "!"], ids=len)
def test_a_long_timeout_is_refused_at_once(given: str) -> None:
    began = time.thread_time()
    with pytest.raises(BadRequestError):
        check_timeout(given)
    assert time.thread_time() - began < 0.5, "whoever has no credentials may send one"
