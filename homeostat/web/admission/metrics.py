"""Prometheus metrics of the admission webhook, with the names of the original.

The number of series is bounded whatever callers send: operations are those of Kubernetes, violations are those of the
built-in checks, and the series of a deleted namespace are removed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from homeostat.edge.metrics.histogram import Histogram
from homeostat.operators.policy.engine.check import CHECKS

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

    from homeostat.web.certificates.renewal import Renewal

_BOUNDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_OPERATIONS = frozenset({"CREATE", "UPDATE", "DELETE", "CONNECT"})
_VIOLATIONS = frozenset(check.type for check in CHECKS)
_UNKNOWN = "unknown"


class AdmissionMetrics:
    """`hurried` counts the requests for which not all policies were evaluated in time. `count_stalled` returns the
    number of invalid policies.
    """

    def __init__(self, count_stalled: Callable[[], int] = lambda: 0, renewal: Renewal | None = None) -> None:
        self.hurried, self.renewal = 0, renewal
        self._count_stalled = count_stalled
        self._requests: Counter[tuple[str, str]] = Counter()
        self._denials: dict[str, Counter[str]] = {}
        self._times = Histogram(_BOUNDS)

    def answered(self, operation: str, namespace: str, denied: Counter[str], seconds: float) -> None:
        """`namespace` is empty for an unknown one. `denied` counts the findings of each check that denied."""
        operation = operation if operation in _OPERATIONS else _UNKNOWN
        self._requests[operation, "false" if denied else "true"] += 1
        self._times.add(seconds)
        if denied:
            counts = self._denials.setdefault(namespace or _UNKNOWN, Counter())
            for violation, number in denied.items():
                counts[violation if violation in _VIOLATIONS else _UNKNOWN] += number

    def forget(self, namespace: str) -> None:
        self._denials.pop(namespace, None)

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        requests = CounterMetricFamily("webhook_requests_total", "Reviews answered", labels=("operation", "allowed"))
        for labels, count in self._requests.items():
            requests.add_metric(labels, count)
        denials = CounterMetricFamily(
            "webhook_denials_total", "Findings that led to a denial", labels=("namespace", "violation")
        )
        for namespace, counts in self._denials.items():
            for violation, count in counts.items():
                denials.add_metric((namespace, violation), count)
        times = HistogramMetricFamily("webhook_request_duration_seconds", "Duration of reviews")
        times.add_metric((), self._times.buckets(), self._times.seconds)
        yield from (requests, denials, times)
        yield CounterMetricFamily(
            "webhook_hurried_total", "Reviews that did not evaluate every policy", value=self.hurried
        )
        yield GaugeMetricFamily(
            "webhook_stalled_policies", "Invalid policies, which deny nothing", value=self._count_stalled()
        )
        if self.renewal is not None:
            from homeostat.web.certificates.metrics import CertificateMetrics

            yield from CertificateMetrics(self.renewal, prefix="webhook_certificate").collect()
