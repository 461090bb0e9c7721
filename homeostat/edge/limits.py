"""Limits on what one connection may use of a server.

Each number bounds the memory or the time that one connection can occupy. The server checks the times periodically,
several times within the shortest of them, so they hold to about a quarter of that.
"""

from __future__ import annotations

import msgspec

KIB = 1024
MIB = 1024 * KIB
_NONE = -1


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    header_bytes: int = 64 * KIB
    """Request line and headers together, and the framing of a chunked body apart from its data; more is a 431."""
    headers: int = 200
    target_bytes: int = 16 * KIB
    body_bytes: int = 3 * MIB
    stream_bytes: int = 8 * MIB
    """Bytes that a stream may buffer for a slow reader; the next send beyond it closes the connection."""
    bodies_bytes: int = 512 * MIB
    """Large request bodies of all connections together; beyond it, the upload that began first is refused."""
    unread_bytes: int = 256 * MIB
    """Bytes that may wait for all clients together that do not read; beyond it, the one with the most is closed."""
    pipelined: int = 16
    """Requests that may wait behind the one being answered before the server stops reading."""
    max_connections: int = 16_384

    header_timeout_s: float = 20.0
    """From the first byte of a request to the end of its headers."""
    body_timeout_s: float = 120.0
    """From the end of the headers to the end of the body."""
    late_after_s: float = 2.0
    """A request that takes longer to arrive gives way to a new connection, if there is no other place for it; so does a
    client that reads nothing of its response for as long."""
    idle_timeout_s: float = 180.0
    """Between requests; longer than clients keep idle connections, so that they close first."""
    stall_timeout_s: float = 60.0
    """How long a client may read nothing while data waits for it."""
    linger_s: float = 2.0
    """How long a refused connection is still read from, so that closing it does not discard the error response."""

    def sweep_interval_s(self) -> float:
        shortest = min(
            self.header_timeout_s, self.body_timeout_s, self.idle_timeout_s, self.stall_timeout_s, self.linger_s
        )
        return min(1.0, max(0.005, shortest / 4))


class StateTimer:
    """Measures how long a connection has been in one state, from the periodic checks.

    Each check passes a number for the state. While the number stays the same, time adds up. A connection therefore
    needs no clock of its own, and bytes that trickle in without changing the state do not extend its time.
    """

    __slots__ = ("_since", "_state")

    def __init__(self) -> None:
        self._state = _NONE
        self._since = 0.0

    def reset(self) -> None:
        self._state = _NONE

    def has_expired(self, state: int, now: float, timeout_s: float) -> bool:
        """Whether the connection has been in `state` for at least `timeout_s`."""
        if state != self._state:
            self._state = state
            self._since = now
            return False
        return now - self._since >= timeout_s
