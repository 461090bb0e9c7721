"""What the watch of a kind passes on to housekeeping."""

from __future__ import annotations

import pytest

from homeostat.operators.housekeeping.metadata.events import Changed, Gone, Listed, Listing, News
from homeostat.operators.housekeeping.metadata.metadata import Metadata, Partial
from homeostat.operators.housekeeping.metadata.sink import Relay
from homeostat.runtime.cache.decoding import GarbledError, UnreadableObject


def seen(name: str, version: int) -> Partial:
    return Partial(Metadata(name, f"uid-{name}", str(version)))


class Heard:
    """A relay, and what was told of it in short."""

    def __init__(self) -> None:
        self.news: list[str] = []
        self.lists = 0
        self.relay = Relay("Pod.", [self._hear], synced=self._count)

    def _hear(self, news: News) -> None:
        match news:
            case Changed(_, metadata):
                self.news.append(f"+{metadata.name}{metadata.resource_version}")
            case Gone(_, metadata):
                self.news.append(f"-{metadata.name}{metadata.resource_version}")
            case Listing() | Listed():
                self.news.append(type(news).__name__)

    def _count(self) -> None:
        self.lists += 1


def test_a_list_is_told_as_it_comes_and_counts_when_it_is_whole() -> None:
    heard = Heard()
    listing = heard.relay.listing()
    listing.put(seen("a", 3))
    listing.put(seen("b", 1))
    assert (heard.news, heard.relay.is_synced, heard.lists) == (["Listing", "+a3", "+b1"], False, 0)
    assert listing.swap(5) == []
    assert (heard.news[3:], heard.relay.is_synced, heard.lists) == (["Listed"], True, 1)
    assert heard.relay.version == 5


def test_an_event_that_is_sent_twice_does_not_bring_back_what_has_gone() -> None:
    heard = Heard()
    heard.relay.put(seen("a", 6))
    heard.relay.remove(seen("a", 7))
    heard.relay.put(seen("a", 6))
    assert (heard.news, heard.relay.version) == (["+a6", "-a7"], 7)


def test_what_went_while_it_was_listed_is_told() -> None:
    heard = Heard()
    heard.relay.listing().swap(9)
    heard.relay.remove(seen("a", 8))
    assert (heard.news[2:], heard.relay.version) == (["-a8"], 9)


def test_a_server_put_back_to_a_backup_is_followed_from_there() -> None:
    heard = Heard()
    heard.relay.advance(90)
    heard.relay.listing().swap(5)
    heard.relay.put(seen("a", 6))
    assert (heard.news[2:], heard.relay.version) == (["+a6"], 6)


def test_an_object_that_cannot_be_read_is_an_error() -> None:
    heard = Heard()
    with pytest.raises(GarbledError, match="web"):
        heard.relay.leave_out(UnreadableObject("n", "web", 7, "odd"))
    with pytest.raises(GarbledError, match="web"):
        heard.relay.listing().leave_out(UnreadableObject("n", "web", 7, "odd"))
