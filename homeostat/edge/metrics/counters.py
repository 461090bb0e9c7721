"""Counters of an HTTP server, as plain numbers that a metrics page reads."""

from __future__ import annotations


class Counters:
    __slots__ = ("accepted", "bytes_in", "bytes_out", "connections", "cut_off", "failed", "refused", "requests")

    def __init__(self) -> None:
        self.accepted = 0
        self.connections = 0
        """Open connections; all other counters only grow."""
        self.requests = 0
        self.refused = 0
        """Requests that the server refused before the handler: malformed, too large, too slow, too many."""
        self.failed = 0
        """Requests whose handler raised."""
        self.cut_off = 0
        """Connections closed because the client did not read."""
        self.bytes_in = 0
        self.bytes_out = 0
