"""The metrics of the operator, by the names of the original."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from homeostat.edge.metrics.histogram import Histogram

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

PREFIX: Final = "declarest_operator_"
_BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
Key = tuple[str, str]
"""Namespace and name."""


class Series:
    def __init__(self) -> None:
        self._polls = Counter[tuple[str, str, str]]()
        self._revisions = Counter[Key]()
        self._syncs = Counter[tuple[str, str, str, str]]()
        self._times = dict[tuple[str, str, str], Histogram]()
        self._applied = Counter[Key]()
        self._pruned = Counter[Key]()

    def polled(self, key: Key, *, is_success: bool) -> None:
        self._polls[*key, _result(is_success)] += 1

    def moved(self, key: Key) -> None:
        """A repository has a new revision."""
        self._revisions[key] += 1

    def synced(self, key: Key, reason: str, duration_s: float, *, applied: int = 0, pruned: int = 0) -> None:
        """`reason` is that of the condition; `Ready` is the one of a success."""
        result = _result(reason == "Ready")
        self._syncs[*key, result, reason] += 1
        self._times.setdefault((*key, result), Histogram(_BOUNDS)).add(duration_s)
        self._applied[key] += applied
        self._pruned[key] += pruned

    def forget_repository(self, key: Key) -> None:
        for result in ("success", "error"):
            self._polls.pop((*key, result), None)
        self._revisions.pop(key, None)

    def forget_policy(self, key: Key) -> None:
        for labels in [each for each in self._syncs if each[:2] == key]:
            del self._syncs[labels]
        for result in ("success", "error"):
            self._times.pop((*key, result), None)
        self._applied.pop(key, None)
        self._pruned.pop(key, None)

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.metrics_core import CounterMetricFamily, HistogramMetricFamily

        named = ("namespace", "name")
        counters = (
            ("resource_repository_poll_total", "Polls of repositories", (*named, "result"), self._polls),
            ("resource_repository_revision_changes_total", "New revisions of repositories", named, self._revisions),
            ("syncpolicy_reconcile_total", "Syncs of policies", (*named, "result", "reason"), self._syncs),
            ("syncpolicy_resources_applied_total", "Resources that were applied", named, self._applied),
            ("syncpolicy_resources_pruned_total", "Objects that were pruned", named, self._pruned),
        )
        for name, text, labels, counts in counters:
            family = CounterMetricFamily(f"{PREFIX}{name}", text, labels=labels)
            for values, count in counts.items():
                family.add_metric(values, count)
            yield family
        name = f"{PREFIX}syncpolicy_reconcile_duration_seconds"
        times = HistogramMetricFamily(name, "Duration of syncs", labels=(*named, "result"))
        for values, histogram in self._times.items():
            times.add_metric(values, histogram.buckets(), histogram.seconds)
        yield times


def _result(is_success: bool) -> str:
    return "success" if is_success else "error"
