"""What a watcher writes to: a cache that keeps the objects, or a receiver that keeps none.

A sink that keeps nothing costs nothing an object; it gets a relist in full and finds out itself what was removed. One
for which an object that cannot be read is not as good as none raises `GarbledError`, and the watch is tried again.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from homeostat.runtime.cache.cache import Change
from homeostat.runtime.cache.decoding import UnreadableObject

V = TypeVar("V")


class SinkListing(Protocol[V]):
    """A list on its way in. One that is given up is not heard of again."""

    def put(self, obj: V) -> None: ...

    def leave_out(self, unreadable: UnreadableObject) -> None:
        """The list has an object that cannot be read."""

    def swap(self, version: int) -> list[Change[V]]:
        """The list is complete: the state at this version. The watcher notifies of the changes returned."""


class Sink(Protocol[V]):
    """Written by one watcher, in the order of the server. The watcher notifies of a change
    that is returned; None means nothing new.
    """

    @property
    def version(self) -> int:
        """The newest that was seen: where a watch goes on."""

    def listing(self) -> SinkListing[V]:
        """A list begins: it is asked for after this."""

    def put(self, obj: V) -> Change[V] | None: ...

    def remove(self, obj: V) -> Change[V] | None: ...

    def leave_out(self, unreadable: UnreadableObject) -> Change[V] | None:
        """An object has become one that cannot be read, or one that cannot be read is gone."""

    def advance(self, version: int) -> None:
        """Everything up to this version was sent."""
