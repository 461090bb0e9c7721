"""Health scores of all namespaces without any policy, as metrics: the `watch` command of the original.

Every Pod outside system namespaces is evaluated with the five original checks. A change subtracts the points of the old
Pod and adds those of the new one, so nothing is stored for each Pod. Many changes are counted in batches that yield to
the event loop. A namespace without Pods scores 100; a deleted namespace loses its series.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

from homeostat.objects.views.pod import Pod
from homeostat.operators.policy.engine.evaluator import Evaluator
from homeostat.operators.policy.engine.namespaces import is_system
from homeostat.operators.policy.engine.score import score_of
from homeostat.operators.policy.spec import ORIGINAL_CHECKS
from homeostat.runtime.cache.cache import Change

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

_BATCH = 1000


class _Sums:
    __slots__ = ("pods", "points")

    def __init__(self) -> None:
        self.pods = self.points = 0

    @property
    def score(self) -> int:
        return score_of(self.points, self.pods)


class PodHealth:
    """`events` counts the changes of Pods since the start of the process."""

    def __init__(self) -> None:
        self.events = 0
        self._evaluator = Evaluator(ORIGINAL_CHECKS)
        self._namespaces: dict[str, _Sums] = {}
        self._waiting: deque[Change[Pod]] = deque()

    def pod_changed(self, change: Change[Pod]) -> None:
        if is_system(change.namespace):
            return
        self.events += 1
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._count)
        self._waiting.append(change)

    def namespace_deleted(self, name: str) -> None:
        """Removes the namespace and its pending changes. A new namespace of the same name starts from zero."""
        self._waiting = deque(each for each in self._waiting if each.namespace != name)
        self._namespaces.pop(name, None)

    @property
    def cluster_score(self) -> int:
        """The mean of all namespaces, not weighted by Pods."""
        healths = self._namespaces.values()
        return sum(each.score for each in healths) // len(healths) if healths else 100

    def score(self, namespace: str) -> int | None:
        sums = self._namespaces.get(namespace)
        return None if sums is None else sums.score

    @property
    def pods(self) -> int:
        return sum(each.pods for each in self._namespaces.values())

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily

        yield GaugeMetricFamily("cluster_health_score", "Mean health score of all namespaces", value=self.cluster_score)
        yield GaugeMetricFamily("pods_tracked_total", "Pods that have a score", value=self.pods)
        yield CounterMetricFamily("pod_events_total", "Pod events received", value=self.events)
        scores = GaugeMetricFamily("namespace_health_score", "Score from 0 to 100", labels=("namespace",))
        for namespace, sums in self._namespaces.items():
            scores.add_metric((namespace,), sums.score)
        yield scores

    def _count(self) -> None:
        for _ in range(min(len(self._waiting), _BATCH)):
            namespace, _, old, new = self._waiting.popleft()
            sums = self._namespaces.get(namespace)
            if sums is None:
                if new is None:
                    # The namespace was deleted first: the two watches are independent.
                    continue
                sums = self._namespaces[namespace] = _Sums()
            for pod, sign in ((old, -1), (new, 1)):
                if pod is not None:
                    sums.pods = max(sums.pods + sign, 0)
                    sums.points = max(sums.points + sign * self._points(pod), 0)
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._count)

    def _points(self, pod: Pod) -> int:
        found = self._evaluator.evaluate(pod, now=0.0).findings
        return sum(each.units * each.check.points for each in found)
