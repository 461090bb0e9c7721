"""Prometheus metrics of this API, with the names of the original's HTTP server.

The number of series is bounded whatever callers send: an endpoint is counted by its route, other paths not at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from homeostat.edge.metrics.histogram import Histogram

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

_BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_LABELS: Final = ("method", "status", "endpoint")


class HttpFigures:
    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._times: dict[tuple[str, str, str], Histogram] = {}
        self._pending: Counter[tuple[str, str]] = Counter()

    def began(self, method: str, endpoint: str) -> None:
        self._pending[method, endpoint] += 1

    def ended(self, method: str, endpoint: str, status: int, seconds: float) -> None:
        self._pending[method, endpoint] -= 1
        labels = (method, str(status), endpoint)
        self._counts[labels] += 1
        self._times.setdefault(labels, Histogram(_BOUNDS)).add(seconds)

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        requests = CounterMetricFamily("axum_http_requests_total", "Requests answered", labels=_LABELS)
        for labels, count in self._counts.items():
            requests.add_metric(labels, count)
        pending = GaugeMetricFamily("axum_http_requests_pending", "Requests under way", labels=("method", "endpoint"))
        for which, count in self._pending.items():
            pending.add_metric(which, count)
        times = HistogramMetricFamily("axum_http_requests_duration_seconds", "Duration of requests", labels=_LABELS)
        for labels, histogram in self._times.items():
            times.add_metric(labels, histogram.buckets(), histogram.seconds)
        yield from (requests, pending, times)
