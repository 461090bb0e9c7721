"""The metrics of the operator, with the names of the original. All series of a policy are removed with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from homeostat.objects.report.report import SEVERITIES
from homeostat.operators.policy.engine.totals import Totals

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

    from homeostat.edge.metrics.histogram import Histogram

_LABELS = ("namespace", "policy")
_ERRORS = frozenset({"failed"})

Key = tuple[str, str]
Counted = Callable[[], tuple[Mapping[str, int], "Histogram"]]
"""The outcomes of reconciliations, and their durations."""


class _Shown(NamedTuple):
    totals: Totals
    is_enforced: bool


class Series:
    """Counters since the start of the process, and the current values of each policy."""

    def __init__(self, counted: Counted) -> None:
        self.remediations_applied = self.remediations_failed = self.pods_scanned = self.audit_results = 0
        self._counted = counted
        self._shown: dict[Key, _Shown] = {}

    def __contains__(self, key: Key) -> bool:
        return key in self._shown

    def show(self, key: Key, totals: Totals, *, is_enforced: bool) -> None:
        self._shown[key] = _Shown(totals, is_enforced)

    def forget(self, key: Key) -> None:
        self._shown.pop(key, None)

    def forget_all(self) -> None:
        self._shown.clear()

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.metrics_core import HistogramMetricFamily

        outcomes, times = self._counted()
        yield from self._counts(outcomes)
        family = HistogramMetricFamily(
            "devopspolicy_reconcile_duration_seconds", "Duration of the reconciliations of policies"
        )
        family.add_metric((), times.buckets(), times.seconds)
        yield family
        yield from self._policies()

    def _counts(self, outcomes: Mapping[str, int]) -> Iterator[Metric]:
        from prometheus_client.metrics_core import CounterMetricFamily

        errors = sum(count for name, count in outcomes.items() if name in _ERRORS)
        for name, text, count in (
            ("devopspolicy_reconcile_total", "Reconciliations of policies", sum(outcomes.values())),
            ("devopspolicy_reconcile_errors_total", "Reconciliations that failed", errors),
            ("devopspolicy_remediations_applied_total", "Workloads patched", self.remediations_applied),
            ("devopspolicy_remediations_failed_total", "Workloads that could not be patched", self.remediations_failed),
            ("devopspolicy_pods_scanned_total", "Pods evaluated", self.pods_scanned),
            ("devopspolicy_audit_results_total", "Audit results written", self.audit_results),
        ):
            yield CounterMetricFamily(name, text, value=count)

    def _policies(self) -> Iterator[Metric]:
        from prometheus_client.metrics_core import GaugeMetricFamily

        violations = GaugeMetricFamily("devopspolicy_violations_total", "Current violations", labels=_LABELS)
        scores = GaugeMetricFamily("devopspolicy_health_score", "Score from 0 to 100", labels=_LABELS)
        modes = GaugeMetricFamily("devopspolicy_enforcement_mode", "0 for audit, 1 for enforce", labels=_LABELS)
        severities = GaugeMetricFamily(
            "devopspolicy_violations_by_severity", "Current violations by severity", labels=("severity", *_LABELS)
        )
        for key, (totals, is_enforced) in self._shown.items():
            violations.add_metric(key, totals.violations)
            scores.add_metric(key, totals.score)
            modes.add_metric(key, float(is_enforced))
            for severity in SEVERITIES:
                severities.add_metric((severity, *key), totals.severities.get(severity, 0))
        yield from (violations, scores, modes, severities)
