"""How long a state has lasted, as seen by looking now and then.

The sweep names the state it finds with a number; as long as the number stays, time adds up. A connection therefore
needs no timer and no clock of its own, and bytes that trickle in without changing the state buy no time.
"""

from __future__ import annotations

UNTIMED = -1


class Patience:
    __slots__ = ("_mark", "_since")

    def __init__(self) -> None:
        self._mark = UNTIMED
        self._since = 0.0

    def reset(self) -> None:
        self._mark = UNTIMED

    def has_run_out(self, mark: int, now: float, timeout_s: float) -> bool:
        if mark != self._mark:
            self._mark = mark
            self._since = now
            return False
        return now - self._since >= timeout_s
