"""Who is known to be gone: by an event, or by a list that began after the deletion."""

from __future__ import annotations

import pytest

from homeostat.operators.housekeeping.garbage.deletions import PendingDeletions
from homeostat.operators.housekeeping.metadata.events import Changed, FeedEvent, Gone, Listed, Listing, Lost
from homeostat.operators.housekeeping.metadata.metadata import Metadata

A, B = (Metadata(name=name, uid=name, resource_version="1") for name in "ab")


@pytest.mark.parametrize(
    ("events", "is_awaited"),
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
def test_a_deletion_is_awaited_until_an_event_or_a_list_proves_it(events: list[FeedEvent], is_awaited: bool) -> None:
    pending_deletions = PendingDeletions()
    pending_deletions.expect("widgets", ["a", "b"])
    for event in events:
        pending_deletions.observe(event)
    assert pending_deletions.is_awaited("widgets") is is_awaited


def test_a_list_that_started_before_the_deletion_proves_nothing() -> None:
    pending_deletions = PendingDeletions()
    pending_deletions.observe(Listing("widgets"))
    pending_deletions.expect("widgets", ["a"])
    pending_deletions.observe(Listed("widgets"))
    assert pending_deletions.is_awaited("widgets")
