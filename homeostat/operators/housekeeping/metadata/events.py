"""The events that housekeeping receives about the objects of every kind. Pure values; `key` is the kind's."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from homeostat.operators.housekeeping.metadata.metadata import Metadata


class Changed(msgspec.Struct, frozen=True, gc=False):
    key: str
    metadata: Metadata


class Gone(msgspec.Struct, frozen=True, gc=False):
    key: str
    metadata: Metadata


class Listing(msgspec.Struct, frozen=True):
    """A list of a kind starts: all its objects follow as `Changed`.

    Objects that were known before and do not appear until `Listed` were deleted. It comes before the list is requested,
    so facts from other sources that arrive meanwhile may be newer than the list.
    """

    key: str


class Listed(msgspec.Struct, frozen=True):
    key: str


class Lost(msgspec.Struct, frozen=True):
    """The kind is not served any more."""

    key: str


class Synced(msgspec.Struct, frozen=True):
    """All kinds were listed."""


FeedEvent = Changed | Gone | Listing | Listed | Lost | Synced
Observer = Callable[[FeedEvent], None]
