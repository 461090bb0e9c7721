"""Measures how long a connection has been in one state, from periodic checks.

Each check passes a number for the state. While the number stays the same, time adds up. A connection therefore needs no
timer and no clock of its own, and bytes that trickle in without changing the state do not extend its time.
"""

from __future__ import annotations

_NONE = -1


class StateTimer:
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
