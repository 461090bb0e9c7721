"""What Prometheus sees of the server: requests by verb and kind, watches, store batches, revisions.

Names follow kube-apiserver's where it has the same thing, so that existing dashboards work. Children are looked up once
and kept: `labels()` costs more than the count itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0)
_MOST_CHILDREN = 5_000


class _Count(Protocol):
    def inc(self, amount: float = 1) -> None: ...


class _Time(Protocol):
    def observe(self, amount: float) -> None: ...


class Metrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "apiserver_request",
            "API requests by verb, resource, subresource and HTTP code",
            ("verb", "resource", "subresource", "code"),
            registry=self.registry,
        )
        self._durations = Histogram(
            "apiserver_request_duration_seconds",
            "Time from a request to its answer (for a watch: to its start)",
            ("verb", "resource", "subresource"),
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self._kept: dict[tuple[tuple[str, str, str], int], tuple[_Count, _Time]] = {}

    def request(self, labels: tuple[str, str, str], code: int, seconds: float) -> None:
        key = (labels, code)
        children = self._kept.get(key)
        if children is None:
            children = self._children(labels, code)
        children[0].inc()
        children[1].observe(seconds)

    def _children(self, labels: tuple[str, str, str], code: int) -> tuple[_Count, _Time]:
        # Resources come and go with their definitions: past a bound, new ones are counted together.
        if len(self._kept) >= _MOST_CHILDREN:
            labels = (labels[0], "other", "")
        found = (self._requests.labels(*labels, str(code)), self._durations.labels(*labels))
        if len(self._kept) < _MOST_CHILDREN:
            self._kept[labels, code] = found
        return found

    def gauge(self, name: str, told: str, read: Callable[[], float]) -> None:
        """A figure that is read when Prometheus asks."""
        Gauge(name, told, registry=self.registry).set_function(read)

    def text(self) -> bytes:
        return generate_latest(self.registry)
