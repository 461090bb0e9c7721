"""Which connections give way to a new one when there are too many. Pure."""

from __future__ import annotations

from enum import Enum


class Idleness(Enum):
    BUSY = 0
    """A request is being received or answered, or the response is being read."""
    BETWEEN = 1
    """Waits for the next request."""
    SILENT = 2
    """Has not sent the headers of its first request."""
    LATE = 3
    """Began a request some seconds ago and has not completed it, or has read nothing of a response for as long."""
