"""The query parameters of a call: an invalid value is refused, and the message says what is expected."""

from __future__ import annotations

import time

import pytest

from homeostat.objects.errors import BadRequestError
from homeostat.server.request.options import check_timeout, parse_options


def test_a_query_that_was_seen_before_is_not_parsed_again() -> None:
    query = "limit=500&labelSelector=app%3Dweb&timeout=30s"
    assert parse_options(query, "list") is parse_options(query, "list")


def test_a_verb_ignores_what_only_others_know() -> None:
    assert parse_options("limit=x&dryRun=Some&force=odd", "get") == parse_options("", "get")


@pytest.mark.parametrize(("given", "means"), [("", True), ("F", True), ("no", True), ("0", False), ("FALSE", False)])
def test_whatever_does_not_deny_is_a_yes(given: str, means: bool) -> None:
    assert parse_options(f"watch={given}", "list").watch is means


def test_a_query_of_a_deletion_names_the_object_that_is_meant() -> None:
    options = parse_options("uid=a&resourceVersion=5", "delete")
    assert (options.uid, options.resource_version) == ("a", "5")


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
