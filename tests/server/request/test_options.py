from __future__ import annotations

from homeostat.server.request.options import parse_options


def test_a_query_that_was_seen_before_is_not_parsed_again() -> None:
    query = "limit=500&labelSelector=app%3Dweb&timeout=30s"
    assert parse_options(query) is parse_options(query)
