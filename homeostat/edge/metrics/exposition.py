"""Metrics in the text format of Prometheus, from collectors that belong to no process-wide registry.

Prometheus accepts a page only if each metric name occurs once, so families of several collectors that share a name are
merged.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Collector(Protocol):
    """Anything that has metrics, such as a collector of prometheus-client."""

    def collect(self) -> Iterable[Metric]: ...


class Families:
    """The metrics of several collectors, each name once."""

    def __init__(self, *collectors: Collector) -> None:
        self._collectors = collectors

    def collect(self) -> list[Metric]:
        from prometheus_client.metrics_core import Metric

        found: dict[str, Metric] = {}
        for collector in self._collectors:
            for family in collector.collect():
                merged = found.get(family.name)
                if merged is None:
                    merged = found[family.name] = Metric(family.name, family.documentation, family.type)
                elif merged.type != family.type:
                    raise ValueError(
                        f"metric {family.name} is a {merged.type} of one collector, a {family.type} of another"
                    )
                merged.samples += family.samples
        return list(found.values())


def exposition(*collectors: Collector) -> bytes:
    from prometheus_client import generate_latest

    return generate_latest(Families(*collectors))
