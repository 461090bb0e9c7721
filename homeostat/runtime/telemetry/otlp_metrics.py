"""Sends the metrics of `/metrics` to a collector by OTLP over HTTP: the same names, labels and values.

They are read on the event loop and sent by a thread, so a slow collector does not block the loop. Only the newest
values wait for the collector. All values are cumulative, so skipped ones are no loss. The module is imported only if
metrics are exported, because the SDK is an extra.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from threading import Event, Thread
from typing import NamedTuple, cast

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.metrics.export import Metric as Sent
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from prometheus_client.metrics_core import Metric
from prometheus_client.samples import Sample

from homeostat import __version__
from homeostat.edge.metrics.exposition import Collector, Families

_SCOPE = InstrumentationScope("homeostat", __version__)
_CUMULATIVE = AggregationTemporality.CUMULATIVE


class Period(NamedTuple):
    """The time that cumulative values cover, in nanoseconds since 1970."""

    start_ns: int
    end_ns: int


class MetricExport:
    """Create it inside a running event loop; it starts at once. The SDK reads the endpoint from the environment."""

    def __init__(
        self, metrics: Collector, resource: Resource, *, every_s: float, now_ns: Callable[[], int] = time.time_ns
    ) -> None:
        self._families, self._resource = Families(metrics), resource
        self._every_s, self._now_ns, self._start_ns = every_s, now_ns, now_ns()
        self._exporter = OTLPMetricExporter()
        self._loop = asyncio.get_running_loop()
        self._newest: list[Metric] | None = None
        self._wake, self._is_stopping = Event(), False
        self._thread = Thread(target=self._send, name="otlp-metrics", daemon=True)
        self._thread.start()
        self._timer = self._loop.call_later(every_s, self._tick)

    async def stop(self, within_s: float) -> None:
        """Sends the last values, and gives up after `within_s`."""
        self._timer.cancel()
        self._newest = self._families.collect()
        self._is_stopping = True
        self._wake.set()
        await asyncio.to_thread(self._thread.join, within_s)
        self._exporter.shutdown()

    def _tick(self) -> None:
        self._timer = self._loop.call_later(self._every_s, self._tick)
        self._newest = self._families.collect()
        self._wake.set()

    def _send(self) -> None:
        while not self._is_stopping or self._newest is not None:
            self._wake.wait()
            self._wake.clear()
            newest, self._newest = self._newest, None
            if newest is not None:
                self._exporter.export(self._data(newest))

    def _data(self, families: list[Metric]) -> MetricsData:
        period = Period(self._start_ns, self._now_ns())
        sent = [each for family in families for each in otlp_metrics(family, period)]
        scope = ScopeMetrics(_SCOPE, sent, schema_url="")
        return MetricsData([ResourceMetrics(self._resource, [scope], schema_url="")])


def otlp_metrics(family: Metric, period: Period) -> Iterator[Sent]:
    """Yields one metric for most families, and for a summary one for each of its parts."""
    if family.type == "histogram":
        points = list(_histogram_points(family, period))
        if points:
            yield _sent(family.name, family, Histogram(points, _CUMULATIVE))
        return
    for name, samples in _by_name(family.samples).items():
        numbers = [_point(sample, period) for sample in samples]
        is_growing = family.type == "counter" or (family.type == "summary" and name != family.name)
        yield _sent(name, family, Sum(numbers, _CUMULATIVE, is_monotonic=True) if is_growing else Gauge(numbers))


def _sent(name: str, family: Metric, data: Sum | Gauge | Histogram) -> Sent:
    return Sent(name, family.documentation, "s" if "_seconds" in name else "", data)


def _point(sample: Sample, period: Period) -> NumberDataPoint:
    return NumberDataPoint(dict(sample.labels), period.start_ns, period.end_ns, float(sample.value))


def _histogram_points(family: Metric, period: Period) -> Iterator[HistogramDataPoint]:
    for group in _by_labels(family.samples).values():
        named = _by_name(group)
        buckets = named.get(f"{family.name}_bucket", [])
        if not buckets:
            continue
        labels = {name: value for name, value in buckets[0].labels.items() if name != "le"}
        reached = [int(bucket.value) for bucket in buckets]
        sums = named.get(f"{family.name}_sum")
        yield HistogramDataPoint(
            labels,
            period.start_ns,
            period.end_ns,
            count=reached[-1],
            sum=sums[0].value if sums else 0.0,
            bucket_counts=[after - before for before, after in zip([0, *reached], reached, strict=False)],
            explicit_bounds=[float(bucket.labels["le"]) for bucket in buckets[:-1]],
            # Unknown, and omitted from the message.
            min=cast("float", None),
            max=cast("float", None),
        )


def _by_name(samples: Iterable[Sample]) -> dict[str, list[Sample]]:
    """Omits the creation times that prometheus-client adds to its counters."""
    found: dict[str, list[Sample]] = {}
    for sample in samples:
        if not sample.name.endswith("_created"):
            found.setdefault(sample.name, []).append(sample)
    return found


def _by_labels(samples: Sequence[Sample]) -> dict[frozenset[tuple[str, str]], list[Sample]]:
    found: dict[frozenset[tuple[str, str]], list[Sample]] = {}
    for sample in samples:
        labels = frozenset((name, value) for name, value in sample.labels.items() if name != "le")
        found.setdefault(labels, []).append(sample)
    return found
