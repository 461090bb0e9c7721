"""Gives the memory of closed connections back to the system.

A connection with TLS has a buffer of 256 KiB. The C library keeps such memory when it is freed, in between other
allocations, and takes other parts of it for the next connections: clients that come and go made a plane larger with
each round, up to the most that it ever had open, although nothing of it was in use. Where the C library is glibc, its
free pages are released after many connections were closed. That takes some milliseconds, in a thread.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import lru_cache

MANY_CLOSED = 100
_EVERY_S = 1.0


class Heap:
    """Counts connections that were closed, and says when it is time to release their memory."""

    __slots__ = ("_closed", "_not_before")

    def __init__(self) -> None:
        self._closed = 0
        self._not_before = 0.0

    def note_closed(self) -> None:
        self._closed += 1

    def is_due(self, now: float) -> bool:
        """Whether many were closed since it last was; then the count begins again."""
        if self._closed < MANY_CLOSED or now < self._not_before:
            return False
        self._closed, self._not_before = 0, now + _EVERY_S
        return True


@lru_cache(1)
def _trim() -> Callable[[int], int] | None:
    if sys.platform != "linux":
        return None
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):  # another C library
        return None
    trim.argtypes, trim.restype = [ctypes.c_size_t], ctypes.c_int
    found: Callable[[int], int] = trim
    return found


def release_free_memory() -> None:
    if (trim := _trim()) is not None:
        trim(0)
