"""The metrics of the operator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from homeostat.edge.metrics.histogram import Histogram

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

_BOUNDS: Final = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
_ACTIONS: Final = ("patched", "up_to_date", "skipped", "failed")
_OPERATIONS: Final = tuple((op, result) for op in ("ls-remote", "fetch", "push") for result in ("success", "failure"))
_CHECKS: Final = ("present", "absent", "error")


class Series:
    """Every counter begins with 0: Prometheus does not count the growth of a series that begins with 1."""

    def __init__(self, tracked: Callable[[], int]) -> None:
        self._tracked = tracked
        self._actions: Counter[str] = Counter(dict.fromkeys(_ACTIONS, 0))
        self._git: Counter[tuple[str, str]] = Counter(dict.fromkeys(_OPERATIONS, 0))
        self._checks: Counter[str] = Counter(dict.fromkeys(_CHECKS, 0))
        self._times = Histogram(_BOUNDS)
        self._last_success = 0.0

    def count_git(self, operation: str, result: str) -> None:
        self._git[operation, result] += 1

    def count_check(self, result: str) -> None:
        self._checks[result] += 1

    def count_action(self, action: str) -> None:
        self._actions[action] += 1

    def passed(self, seconds: float, at_s: float, *, is_success: bool) -> None:
        """A pass over one repository has ended."""
        self._times.add(seconds)
        if is_success:
            self._last_success = at_s

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        actions = CounterMetricFamily("gitops_reconcile_total", "Results of Deployments", labels=("action",))
        for action, count in self._actions.items():
            actions.add_metric((action,), count)
        times = HistogramMetricFamily("gitops_reconcile_duration_seconds", "Duration of passes over a repository")
        times.add_metric((), self._times.buckets(), self._times.seconds)
        operations = CounterMetricFamily("gitops_git_operations_total", "Calls to Git servers", labels=("op", "result"))
        for labels, count in self._git.items():
            operations.add_metric(labels, count)
        checks = CounterMetricFamily(
            "gitops_registry_checks_total", "Checks of images in registries", labels=("result",)
        )
        for result, count in self._checks.items():
            checks.add_metric((result,), count)
        yield from (actions, times, operations, checks)
        yield GaugeMetricFamily("gitops_tracked_deployments", "Tracked Deployments", value=self._tracked())
        yield GaugeMetricFamily(
            "gitops_last_success_timestamp", "When a pass last ended without a failure", value=self._last_success
        )
