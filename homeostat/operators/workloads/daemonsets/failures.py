"""How long a failed Pod of a DaemonSet stays: the back-off of each Node. Pure.

Whatever makes the Pod fail there, such as a kubelet that rejects it, would otherwise make its successor fail at once,
and so on without end. The first failed Pod is deleted at once, and the first one after a change of the DaemonSet, too.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from homeostat.objects.time.backoff import Backoff
from homeostat.operators.workloads.api import Meta

_BACK_OFF: Final = Backoff(first_s=1.0, cap_s=900.0, spread=0.0)
_FORGET_AFTER_S: Final = 2 * _BACK_OFF.cap_s
_MANY: Final = 1000

Place = tuple[str, int, str]
"""The uid and the generation of a DaemonSet, and a Node."""


class _Failure(NamedTuple):
    number: int
    """Of failures in a row."""
    at: float

    @property
    def wait_s(self) -> float:
        return _BACK_OFF.delay_s(self.number, 0.0)


class Failures:
    def __init__(self) -> None:
        self._last: dict[Place, _Failure] = {}
        self._most = _MANY

    def left_s(self, daemon: Meta, node: str, now: float) -> float:
        """Until a failed Pod may be deleted there; 0 for at once."""
        last = self._last.get(_place(daemon, node))
        return 0.0 if last is None else max(last.at + last.wait_s - now, 0.0)

    def note(self, daemon: Meta, node: str, now: float) -> None:
        """A failed Pod is deleted there."""
        place = _place(daemon, node)
        last = self._last.get(place)
        former = 0 if last is None or _is_over(last, now) else last.number
        self._last[place] = _Failure(former + 1, now)
        if len(self._last) > self._most:
            self._last = {where: each for where, each in self._last.items() if not _is_over(each, now)}
            self._most = max(_MANY, 2 * len(self._last))


def _place(daemon: Meta, node: str) -> Place:
    return daemon.uid, daemon.generation, node


def _is_over(last: _Failure, now: float) -> bool:
    return now - last.at > _FORGET_AFTER_S
