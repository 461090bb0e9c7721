"""Metrics of the server: requests by verb and kind, watches, store batches, revisions.

Names follow kube-apiserver's where it has the same metric, so that existing dashboards work. Counting a request only
changes a number in a list; the Prometheus library is imported when metrics are scraped, and a page of thousands of
kinds is rendered in a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from homeostat.edge.metrics.exposition import CONTENT_TYPE, Collector, escaped, rendered
from homeostat.edge.metrics.histogram import Histogram

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric
    from prometheus_client.samples import Sample

__all__ = ["CONTENT_TYPE", "Labels", "Metrics"]

_BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0)
_MAX_SERIES = 5_000
_TOTAL = "apiserver_request"
_DURATION = "apiserver_request_duration_seconds"

Labels = tuple[str, str, str]
"""Verb, resource and subresource."""
_Value = tuple[str, dict[str, str], float]
"""The name of a sample, its labels and its value."""


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

        yield from _Requests(self._histograms).families()
        for gauge in self._gauges:
            yield GaugeMetricFamily(gauge.name, gauge.documentation, value=gauge.read())
        for collector in self._included:
            yield from collector.collect()


class _Requests:
    """The series that existed when the page was requested, with what they count while a thread renders them."""

    def __init__(self, histograms: dict[tuple[Labels, int], Histogram]) -> None:
        self._histograms = list(histograms.items())

    def families(self) -> Iterator[Metric]:
        yield rendered(
            _TOTAL,
            "API requests by verb, resource, subresource and HTTP code",
            "counter",
            partial(_lines, self._counts),
            partial(_samples, self._counts),
        )
        yield rendered(
            _DURATION,
            "Time from a request to its answer (for a watch: to its start)",
            "histogram",
            partial(_lines, self._durations),
            partial(_samples, self._durations),
        )

    def _counts(self) -> Iterator[_Value]:
        for (labels, code), histogram in self._histograms:
            yield f"{_TOTAL}_total", {"code": str(code), **_named(labels)}, sum(histogram.counts)

    def _durations(self) -> Iterator[_Value]:
        together: dict[Labels, Histogram] = {}
        for (labels, _), histogram in self._histograms:
            together.setdefault(labels, Histogram(_BOUNDS)).merge(histogram)
        for labels, histogram in together.items():
            named, buckets = _named(labels), histogram.buckets()
            for bound, count in buckets:
                yield f"{_DURATION}_bucket", {"le": bound, **named}, count
            yield f"{_DURATION}_count", named, buckets[-1][1]
            yield f"{_DURATION}_sum", named, histogram.seconds


def _named(labels: Labels) -> dict[str, str]:
    verb, resource, subresource = labels
    return {"resource": resource, "subresource": subresource, "verb": verb}


def _lines(values: Callable[[], Iterable[_Value]]) -> str:
    return "".join([f"{name}{{{_pairs(labels)}}} {float(value)}\n" for name, labels, value in values()])


def _pairs(labels: dict[str, str]) -> str:
    return ",".join([f'{name}="{escaped(value)}"' for name, value in labels.items()])


def _samples(values: Callable[[], Iterable[_Value]]) -> list[Sample]:
    from prometheus_client.samples import Sample

    return [Sample(name, labels, value) for name, labels, value in values()]
