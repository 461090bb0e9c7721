"""Who is known to be gone: by an event, or by a list that began after the deletion."""

from __future__ import annotations

import pytest

from homeostat.operators.housekeeping.garbage.deletions import PendingDeletions
from homeostat.operators.housekeeping.metadata.events import Changed, Gone, Listed, Listing, Lost, News
from homeostat.operators.housekeeping.metadata.metadata import Metadata

A, B = (Metadata(name=name, uid=name, resource_version="1") for name in "ab")


@pytest.mark.parametrize(
    ("told", "is_awaited"),
    [
        ([], True),
        ([Gone("widgets", A)], True),
        ([Gone("widgets", A), Gone("widgets", B)], False),
        ([Gone("gadgets", A), Gone("gadgets", B)], True),
        ([Listing("widgets"), Listed("widgets")], False),
        ([Listing("widgets"), Changed("widgets", B), Listed("widgets")], True),
        ([Listing("widgets"), Changed("widgets", B), Listed("widgets"), Gone("widgets", B)], False),
        ([Listing("gadgets"), Listed("gadgets")], True),
        ([Listed("widgets")], True),
        ([Lost("widgets")], False),
    ],
)
def test_those_are_awaited_of_whom_nothing_has_said_that_they_are_gone(told: list[News], is_awaited: bool) -> None:
    pending_deletions = PendingDeletions()
    pending_deletions.expect("widgets", ["a", "b"])
    for news in told:
        pending_deletions.observe(news)
    assert pending_deletions.is_awaited("widgets") is is_awaited


def test_a_list_that_began_before_somebody_was_awaited_says_nothing_of_him() -> None:
    pending_deletions = PendingDeletions()
    pending_deletions.observe(Listing("widgets"))
    pending_deletions.expect("widgets", ["a"])
    pending_deletions.observe(Listed("widgets"))
    assert pending_deletions.is_awaited("widgets")
