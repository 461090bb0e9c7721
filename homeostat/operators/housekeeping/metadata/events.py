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
    """All objects of a kind are about to be told as `Changed`.

    Those that were known before this and are not told until `Listed` are gone. It comes before the server is asked,
    so what becomes known meanwhile by other ways may be newer than the list.
    """

    key: str


class Listed(msgspec.Struct, frozen=True):
    key: str


class Lost(msgspec.Struct, frozen=True):
    """The kind is not served any more."""

    key: str


class Synced(msgspec.Struct, frozen=True):
    """Every kind has been listed."""


News = Changed | Gone | Listing | Listed | Lost | Synced
Observer = Callable[[News], None]
