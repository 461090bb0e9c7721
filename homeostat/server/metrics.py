"""Metrics of the server: requests by verb and kind, watches, store batches, revisions.

Names follow kube-apiserver's where it has the same metric, so that existing dashboards work. Counting a request only
changes a number in a list; the Prometheus library is imported when metrics are scraped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from homeostat.edge.metrics.exposition import CONTENT_TYPE, Collector
from homeostat.edge.metrics.histogram import Histogram

if TYPE_CHECKING:
    from prometheus_client.metrics_core import CounterMetricFamily, HistogramMetricFamily, Metric

__all__ = ["CONTENT_TYPE", "Labels", "Metrics"]

_BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0)
_MAX_SERIES = 5_000

Labels = tuple[str, str, str]
"""Verb, resource and subresource."""


class _Gauge(NamedTuple):
    name: str
    documentation: str
    read: Callable[[], float]


class Metrics:
    def __init__(self) -> None:
        self._histograms: dict[tuple[Labels, int], Histogram] = {}
        self._gauges: list[_Gauge] = []
        self._included: list[Collector] = []

    def request(self, labels: Labels, code: int, seconds: float) -> None:
        (self._histograms.get((labels, code)) or self._histogram(labels, code)).add(seconds)

    def _histogram(self, labels: Labels, code: int) -> Histogram:
        # Definitions add resources without end: beyond the limit, new ones are counted together.
        if len(self._histograms) >= _MAX_SERIES:
            labels = (labels[0], "other", "")
        return self._histograms.setdefault((labels, code), Histogram(_BOUNDS))

    def gauge(self, name: str, documentation: str, read: Callable[[], float]) -> None:
        """Add a gauge whose value is read at each scrape."""
        self._gauges.append(_Gauge(name, documentation, read))

    def include(self, collector: Collector) -> None:
        """Show the metrics of another collector on the same page."""
        self._included.append(collector)

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.metrics_core import GaugeMetricFamily

        yield self._requests()
        yield self._durations()
        for gauge in self._gauges:
            yield GaugeMetricFamily(gauge.name, gauge.documentation, value=gauge.read())
        for collector in self._included:
            yield from collector.collect()

    def _requests(self) -> CounterMetricFamily:
        from prometheus_client.metrics_core import CounterMetricFamily

        family = CounterMetricFamily(
            "apiserver_request",
            "API requests by verb, resource, subresource and HTTP code",
            labels=("verb", "resource", "subresource", "code"),
        )
        for (labels, code), histogram in self._histograms.items():
            family.add_metric([*labels, str(code)], sum(histogram.counts))
        return family

    def _durations(self) -> HistogramMetricFamily:
        from prometheus_client.metrics_core import HistogramMetricFamily

        family = HistogramMetricFamily(
            "apiserver_request_duration_seconds",
            "Time from a request to its answer (for a watch: to its start)",
            labels=("verb", "resource", "subresource"),
        )
        together: dict[Labels, Histogram] = {}
        for (labels, _), histogram in self._histograms.items():
            together.setdefault(labels, Histogram(_BOUNDS)).merge(histogram)
        for labels, histogram in together.items():
            family.add_metric(labels, histogram.buckets(), histogram.seconds)
        return family
