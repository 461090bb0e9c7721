"""What the watch of a kind passes on to housekeeping."""

from __future__ import annotations

import pytest

from homeostat.operators.housekeeping.metadata.events import Changed, FeedEvent, Gone, Listed, Listing
from homeostat.operators.housekeeping.metadata.metadata import Metadata, Partial
from homeostat.operators.housekeeping.metadata.sink import Relay
from homeostat.runtime.cache.decoding import GarbledError, UnreadableObject


def seen(name: str, version: int) -> Partial:
    return Partial(Metadata(name, f"uid-{name}", str(version)))


class Observed:
    """A relay, and in short what it delivered."""

    def __init__(self) -> None:
        self.event: list[str] = []
        self.lists = 0
        self.relay = Relay("Pod.", [self._observe], synced=self._count)

    def _observe(self, event: FeedEvent) -> None:
        match event:
            case Changed(_, metadata):
                self.event.append(f"+{metadata.name}{metadata.resource_version}")
            case Gone(_, metadata):
                self.event.append(f"-{metadata.name}{metadata.resource_version}")
            case Listing() | Listed():
                self.event.append(type(event).__name__)

    def _count(self) -> None:
        self.lists += 1


def test_a_list_is_delivered_as_it_comes_and_counts_when_it_is_whole() -> None:
    observed = Observed()
    listing = observed.relay.listing()
    listing.put(seen("a", 3))
    listing.put(seen("b", 1))
    assert (observed.event, observed.relay.is_synced, observed.lists) == (["Listing", "+a3", "+b1"], False, 0)
    assert listing.swap(5) == []
    assert (observed.event[3:], observed.relay.is_synced, observed.lists) == (["Listed"], True, 1)
    assert observed.relay.version == 5


def test_an_event_that_is_sent_twice_does_not_bring_back_what_has_gone() -> None:
    observed = Observed()
    observed.relay.put(seen("a", 6))
    observed.relay.remove(seen("a", 7))
    observed.relay.put(seen("a", 6))
    assert (observed.event, observed.relay.version) == (["+a6", "-a7"], 7)


def test_what_was_deleted_while_it_was_listed_is_delivered() -> None:
    observed = Observed()
    observed.relay.listing().swap(9)
    observed.relay.remove(seen("a", 8))
    assert (observed.event[2:], observed.relay.version) == (["-a8"], 9)


def test_a_server_put_back_to_a_backup_is_followed_from_there() -> None:
    observed = Observed()
    observed.relay.advance(90)
    observed.relay.listing().swap(5)
    observed.relay.put(seen("a", 6))
    assert (observed.event[2:], observed.relay.version) == (["+a6"], 6)


def test_an_object_that_cannot_be_read_is_an_error() -> None:
    observed = Observed()
    with pytest.raises(GarbledError, match="web"):
        observed.relay.leave_out(UnreadableObject("n", "web", 7, "odd"))
    with pytest.raises(GarbledError, match="web"):
        observed.relay.listing().leave_out(UnreadableObject("n", "web", 7, "odd"))
