"""Prometheus metrics of an HTTP app: requests by route and code, their durations, and open event streams.

The number of series is bounded whatever callers send: a route is counted by its pattern, all paths without a route
together, and the edge refuses methods that HTTP does not have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from homeostat.edge.metrics.histogram import Histogram

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

_BOUNDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class RestFigures:
    prefix = "homeostat_rest"
    """Of the names of its metrics."""
    title = "REST API"

    def __init__(self) -> None:
        self._count_streams: Callable[[], int] | None = None
        self._counts: Counter[tuple[str, str, int]] = Counter()
        self._times: dict[tuple[str, str], Histogram] = {}

    def watch_streams(self, count: Callable[[], int]) -> None:
        """`count` returns the number of open event streams, of an app that has some."""
        self._count_streams = count

    def answered(self, method: str, pattern: str, code: int, seconds: float) -> None:
        """`pattern` is empty for a path without a route."""
        self._counts[method, pattern, code] += 1
        histogram = self._times.get((method, pattern))
        if histogram is None:
            histogram = self._times[method, pattern] = Histogram(_BOUNDS)
        histogram.add(seconds)

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        requests = CounterMetricFamily(
            f"{self.prefix}_requests", f"Requests to the {self.title}", labels=("method", "route", "code")
        )
        for (method, pattern, code), count in self._counts.items():
            requests.add_metric((method, pattern, str(code)), count)
        times = HistogramMetricFamily(
            f"{self.prefix}_request_duration_seconds",
            f"Duration of requests to the {self.title}, until the response or the start of a stream",
            labels=("method", "route"),
        )
        for labels, histogram in self._times.items():
            times.add_metric(labels, histogram.buckets(), histogram.seconds)
        yield from (requests, times)
        if self._count_streams is not None:
            yield GaugeMetricFamily(f"{self.prefix}_event_streams", "Open event streams", value=self._count_streams())
