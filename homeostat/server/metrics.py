"""What Prometheus sees of the server: requests by verb and kind, watches, store batches, revisions.

Names follow kube-apiserver's where it has the same thing, so that existing dashboards work. Every request is counted
and few are ever read, so a count is a number in a list, and Prometheus' library is met when it asks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import accumulate
from operator import add
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from prometheus_client.metrics_core import CounterMetricFamily, HistogramMetricFamily, Metric

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0)
_MOST_SORTS = 5_000

Labels = tuple[str, str, str]
"""Verb, resource and subresource."""


class _Tally:
    """Requests of one sort: how many took at most as long as each bucket says and longer than the one before."""

    __slots__ = ("buckets", "seconds")

    def __init__(self) -> None:
        self.buckets = [0] * (len(_BUCKETS) + 1)
        self.seconds = 0.0

    def take(self, other: _Tally) -> None:
        self.buckets = list(map(add, self.buckets, other.buckets))
        self.seconds += other.seconds


class _Gauge(NamedTuple):
    name: str
    told: str
    read: Callable[[], float]


class Metrics:
    def __init__(self) -> None:
        self._tallies: dict[tuple[Labels, int], _Tally] = {}
        self._gauges: list[_Gauge] = []

    def request(self, labels: Labels, code: int, seconds: float) -> None:
        tally = self._tallies.get((labels, code)) or self._tally(labels, code)
        tally.buckets[bisect_left(_BUCKETS, seconds)] += 1
        tally.seconds += seconds

    def _tally(self, labels: Labels, code: int) -> _Tally:
        # Resources come and go with their definitions: past a bound, new ones are counted together.
        if len(self._tallies) >= _MOST_SORTS:
            labels = (labels[0], "other", "")
        return self._tallies.setdefault((labels, code), _Tally())

    def gauge(self, name: str, told: str, read: Callable[[], float]) -> None:
        """A figure that is read when Prometheus asks."""
        self._gauges.append(_Gauge(name, told, read))

    def text(self) -> bytes:
        from prometheus_client import CollectorRegistry, generate_latest

        registry = CollectorRegistry()
        registry.register(self)
        return generate_latest(registry)

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.metrics_core import GaugeMetricFamily

        yield self._requests()
        yield self._durations()
        for gauge in self._gauges:
            yield GaugeMetricFamily(gauge.name, gauge.told, value=gauge.read())

    def _requests(self) -> CounterMetricFamily:
        from prometheus_client.metrics_core import CounterMetricFamily

        family = CounterMetricFamily(
            "apiserver_request",
            "API requests by verb, resource, subresource and HTTP code",
            labels=("verb", "resource", "subresource", "code"),
        )
        for (labels, code), tally in self._tallies.items():
            family.add_metric([*labels, str(code)], sum(tally.buckets))
        return family

    def _durations(self) -> HistogramMetricFamily:
        from prometheus_client.metrics_core import HistogramMetricFamily

        family = HistogramMetricFamily(
            "apiserver_request_duration_seconds",
            "Time from a request to its answer (for a watch: to its start)",
            labels=("verb", "resource", "subresource"),
        )
        together: dict[Labels, _Tally] = {}
        for (labels, _), tally in self._tallies.items():
            together.setdefault(labels, _Tally()).take(tally)
        bounds = [*map(str, _BUCKETS), "+Inf"]
        for labels, tally in together.items():
            family.add_metric(labels, list(zip(bounds, accumulate(tally.buckets), strict=True)), tally.seconds)
        return family
