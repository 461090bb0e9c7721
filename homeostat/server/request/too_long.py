"""What work asks that may be too long for the event loop: where it runs, and to start again in a thread."""

from __future__ import annotations

from homeostat.edge.threads import SHARED


class TooLongError(Exception):
    """The call must start again in a thread (`offload.py`); raised only on the event loop."""


is_offloaded = SHARED.is_current
"""Whether the caller runs in one of the threads, where it does not block the loop."""
