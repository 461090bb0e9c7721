"""Events of the simulation, with the component names of Kubernetes, and limited in number.

A Pod that starts has four Events. Thousands of Pods at once would spend more on them than on the Pods, so only a
number of Events is recorded at once, and then a few a second. The others are dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from homeostat.objects.kind import Kind
from homeostat.operators.workloads.api import Meta
from homeostat.runtime.control.recorder import About, EventType, Recorder

SCHEDULER: Final = "default-scheduler"
KUBELET: Final = "kubelet"
MOST_AT_ONCE: Final = 500
EACH_SECOND: Final = 20.0


class Events:
    """`clock` counts seconds."""

    def __init__(self, recorder: Recorder, clock: Callable[[], float]) -> None:
        self._recorder, self._clock = recorder, clock
        self._left, self._at = float(MOST_AT_ONCE), clock()
        self.dropped = 0

    def record(
        self, kind: Kind, meta: Meta, reason: str, message: str, *, by: str, type_: EventType = "Normal"
    ) -> None:
        if not self._admits():
            self.dropped += 1
            return
        about = About(kind.api_version, kind.kind, meta.namespace, meta.name, meta.uid)
        self._recorder.record(about, type_, reason, message, by=by)

    def _admits(self) -> bool:
        now = self._clock()
        self._left = min(float(MOST_AT_ONCE), self._left + (now - self._at) * EACH_SECOND)
        self._at = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True
