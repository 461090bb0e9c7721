"""What a server has seen, as plain numbers for whoever exposes metrics."""

from __future__ import annotations


class Counters:
    __slots__ = ("accepted", "bytes_in", "bytes_out", "connections", "cut_off", "failed", "refused", "requests")

    def __init__(self) -> None:
        self.accepted = 0
        self.connections = 0
        """Open now; all others only grow."""
        self.requests = 0
        self.refused = 0
        """Answered by the edge itself: malformed, too large, too slow, too many."""
        self.failed = 0
        """Handlers that raised."""
        self.cut_off = 0
        """Readers that did not take what was sent to them."""
        self.bytes_in = 0
        self.bytes_out = 0
