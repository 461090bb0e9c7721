"""Figures in the text format that Prometheus reads, from collectors that are no part of a registry of the process.

Prometheus takes a page only if each name stands on it once: families of several collectors that share a name are
shown as one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Collector(Protocol):
    """Whatever has figures; the collectors of prometheus-client are such."""

    def collect(self) -> Iterable[Metric]: ...


class Families:
    """What several collectors have, each name once."""

    def __init__(self, *collectors: Collector) -> None:
        self._collectors = collectors

    def collect(self) -> list[Metric]:
        from prometheus_client.metrics_core import Metric

        found: dict[str, Metric] = {}
        for collector in self._collectors:
            for family in collector.collect():
                held = found.get(family.name)
                if held is None:
                    held = found[family.name] = Metric(family.name, family.documentation, family.type)
                elif held.type != family.type:
                    raise ValueError(
                        f"metric {family.name} is a {held.type} of one collector, a {family.type} of another"
                    )
                held.samples += family.samples
        return list(found.values())


def exposition(*collectors: Collector) -> bytes:
    from prometheus_client import generate_latest

    return generate_latest(Families(*collectors))
