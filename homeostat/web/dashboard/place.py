"""A place that the palette of the dashboard leads to. Pure."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeAlias

import msgspec

from homeostat.web.dashboard.visit import Visit

MOST_FOUND: Final = 20


class Place(msgspec.Struct, frozen=True):
    """Where the palette leads: `note` says what it is."""

    title: str
    note: str
    path: str


Find: TypeAlias = Callable[[Visit, Sequence[str]], Awaitable[list[Place]]]
"""By words in lower case, at least one; the best first. It reads what is in memory."""
