"""The metrics of the operator: how many resources of each type are in which phase.

They are counted as the resources change, and not when they are scraped: there may be many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import msgspec

from homeostat.operators.actions.api import Resource
from homeostat.runtime.cache.listing import Change

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

RESOURCES: Final = "homeostat_actions_resources"


class _Phased(msgspec.Struct, frozen=True):
    phase: str = "pending"


class Series:
    def __init__(self) -> None:
        self._counts: dict[str, Counter[str]] = {}
        """By the plural of the type, then by phase."""

    def changed(self, plural: str, change: Change[Resource]) -> None:
        counts = self._counts.setdefault(plural, Counter())
        for resource, sign in ((change.old, -1), (change.new, 1)):
            if resource is not None:
                counts[_phase(resource)] += sign

    def forget(self, plural: str) -> None:
        """The type is no longer in force, or this process no longer leads."""
        self._counts.pop(plural, None)

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.metrics_core import GaugeMetricFamily

        family = GaugeMetricFamily(RESOURCES, "Resources by type and phase", labels=("type", "phase"))
        for plural, counts in self._counts.items():
            for phase, count in counts.items():
                family.add_metric((plural, phase), count)
        yield family


def _phase(resource: Resource) -> str:
    try:
        return resource.read_status(_Phased).phase
    except msgspec.DecodeError:
        return "unknown"
