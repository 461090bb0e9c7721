"""What the watch of one kind writes to: it passes everything on and keeps nothing but how far the watch has come.

Each keeper holds what it needs itself; a cache would hold the metadata of every object a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Never

from homeostat.operators.housekeeping.metadata.events import Changed, Gone, Listed, Listing, News, Observer
from homeostat.operators.housekeeping.metadata.metadata import Partial
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.cache.decoding import GarbledError, UnreadableObject, version_of


class Relay:
    """A sink. `is_synced` once the first list was told in full; `synced` is called whenever a list was."""

    def __init__(self, key: str, observers: Iterable[Observer], *, synced: Callable[[], None]) -> None:
        self.key = key
        self.version = 0
        self.is_synced = False
        self._observers = tuple(observers)
        self._synced = synced

    def tell(self, news: News) -> None:
        for observer in self._observers:
            observer(news)

    def listing(self) -> RelayListing:
        self.tell(Listing(self.key))
        return RelayListing(self)

    def put(self, obj: Partial) -> None:
        version = version_of(obj)
        # An older one is sent twice by somebody in between, and might bring back what has gone since.
        if version >= self.version:
            self.version = version
            self.tell(Changed(self.key, obj.metadata))

    def remove(self, obj: Partial) -> None:
        self.advance(version_of(obj))
        self.tell(Gone(self.key, obj.metadata))

    def finish(self, version: int) -> None:
        """The list is whole."""
        self.version = version
        self.is_synced = True
        self.tell(Listed(self.key))
        self._synced()

    def leave_out(self, unreadable: UnreadableObject) -> Never:
        raise _unread(self.key, unreadable)

    def advance(self, version: int) -> None:
        self.version = max(self.version, version)


class RelayListing:
    def __init__(self, relay: Relay) -> None:
        self._relay = relay

    def put(self, obj: Partial) -> None:
        self._relay.tell(Changed(self._relay.key, obj.metadata))

    def leave_out(self, unreadable: UnreadableObject) -> Never:
        raise _unread(self._relay.key, unreadable)

    def swap(self, version: int) -> list[Change[Partial]]:
        self._relay.finish(version)
        return []


def _unread(key: str, unreadable: UnreadableObject) -> GarbledError:
    # Taken for one that is not there, it would take its dependents along.
    return GarbledError(
        f'"{unreadable.name}" of kind {key} in namespace "{unreadable.namespace}" is unreadable; garbage '
        f"collection is paused"
    )
