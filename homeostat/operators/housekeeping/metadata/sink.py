"""The sink of the watch of one kind: it delivers all events to the observers and keeps only the resource version.

Each controller keeps the data it needs. A cache would hold the metadata of every object a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Never

from homeostat.operators.housekeeping.metadata.events import Changed, FeedEvent, Gone, Listed, Listing, Observer
from homeostat.operators.housekeeping.metadata.metadata import Partial
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.cache.decoding import GarbledError, UnreadableObject, version_of


class Relay:
    """A sink. `is_synced` is true after the first complete list; `synced` is called after each list."""

    def __init__(self, key: str, observers: Iterable[Observer], *, synced: Callable[[], None]) -> None:
        self.key = key
        self.version = 0
        self.is_synced = False
        self._observers = tuple(observers)
        self._synced = synced

    def deliver(self, event: FeedEvent) -> None:
        for observer in self._observers:
            observer(event)

    def listing(self) -> RelayListing:
        self.deliver(Listing(self.key))
        return RelayListing(self)

    def put(self, obj: Partial) -> None:
        version = version_of(obj)
        # A proxy may repeat an older event, which might bring back a deleted object.
        if version >= self.version:
            self.version = version
            self.deliver(Changed(self.key, obj.metadata))

    def remove(self, obj: Partial) -> None:
        self.advance(version_of(obj))
        self.deliver(Gone(self.key, obj.metadata))

    def finish(self, version: int) -> None:
        """The list is complete."""
        self.version = version
        self.is_synced = True
        self.deliver(Listed(self.key))
        self._synced()

    def leave_out(self, unreadable: UnreadableObject) -> Never:
        raise _unread(self.key, unreadable)

    def advance(self, version: int) -> None:
        self.version = max(self.version, version)


class RelayListing:
    def __init__(self, relay: Relay) -> None:
        self._relay = relay

    def put(self, obj: Partial) -> None:
        self._relay.deliver(Changed(self._relay.key, obj.metadata))

    def leave_out(self, unreadable: UnreadableObject) -> Never:
        raise _unread(self._relay.key, unreadable)

    def swap(self, version: int) -> list[Change[Partial]]:
        self._relay.finish(version)
        return []


def _unread(key: str, unreadable: UnreadableObject) -> GarbledError:
    # If it counted as deleted, its dependents would be deleted.
    return GarbledError(
        f'"{unreadable.name}" of kind {key} in namespace "{unreadable.namespace}" is unreadable; garbage '
        f"collection is paused"
    )
