"""The protocol of what a watcher writes to: a cache that keeps the objects, or a receiver that does not.

A sink without a cache costs no memory per object; it gets relists in full and has to find removed objects itself. A
sink that cannot ignore an unreadable object raises `GarbledError`, and the watch is retried.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from homeostat.runtime.cache.cache import Change
from homeostat.runtime.cache.decoding import UnreadableObject

V = TypeVar("V")


class SinkListing(Protocol[V]):
    """A list that is being received. An abandoned one gets no further calls."""

    def put(self, obj: V) -> None: ...

    def leave_out(self, unreadable: UnreadableObject) -> None:
        """The list has an unreadable object."""

    def swap(self, version: int) -> list[Change[V]]:
        """The list is complete: the state at this version. The watcher delivers the returned changes."""


class Sink(Protocol[V]):
    """Written by one watcher, in the order of the server. The watcher delivers the returned change; None means no
    change.
    """

    @property
    def version(self) -> int:
        """The newest resource version that was seen, at which a watch resumes."""

    def listing(self) -> SinkListing[V]:
        """A list starts; it is requested after this call."""

    def put(self, obj: V) -> Change[V] | None: ...

    def remove(self, obj: V) -> Change[V] | None: ...

    def leave_out(self, unreadable: UnreadableObject) -> Change[V] | None:
        """An object has become unreadable, or an unreadable object was deleted."""

    def advance(self, version: int) -> None:
        """All events up to this version were received."""
