"""What a peer may take of a server before it is refused or cut off.

Every number bounds memory or time one peer can hold. Times are checked by a sweep several times within the shortest
of them, so they are kept to about a quarter of that.
"""

from __future__ import annotations

import msgspec

KIB = 1024
MIB = 1024 * KIB


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    header_bytes: int = 64 * KIB
    """Request line and headers together, and the framing of a chunked body beside its data; over it is 431."""
    headers: int = 200
    target_bytes: int = 16 * KIB
    body_bytes: int = 3 * MIB
    stream_bytes: int = 8 * MIB
    """What a stream may hold for a reader that does not keep up; the next send over it cuts the reader off."""
    pipelined: int = 16
    """Requests waiting behind the one being answered before reading stops."""
    max_connections: int = 16_384

    header_timeout_s: float = 20.0
    """From the first byte of a request to the end of its headers, however steadily they trickle in."""
    body_timeout_s: float = 120.0
    """From the end of the headers to the end of the body."""
    idle_timeout_s: float = 180.0
    """Between requests; longer than clients keep idle connections, so that they close first."""
    stall_timeout_s: float = 60.0
    """How long a reader may take nothing at all of what waits for it."""
    linger_s: float = 2.0
    """How long a refused peer is still read from, so that closing does not destroy the refusal on its way."""

    def sweep_interval_s(self) -> float:
        shortest = min(
            self.header_timeout_s, self.body_timeout_s, self.idle_timeout_s, self.stall_timeout_s, self.linger_s
        )
        return min(1.0, max(0.005, shortest / 4))
