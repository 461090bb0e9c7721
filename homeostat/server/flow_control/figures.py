"""Metrics of priority levels, under the names of kube-apiserver."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from homeostat.server.flow_control.level import Level
from homeostat.server.flow_control.seats import Seats

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

_PREFIX = "apiserver_flowcontrol"
_LEVEL = "priority_level"
_GAUGES: dict[str, tuple[str, Callable[[Level], int]]] = {
    "nominal_limit_seats": ("Seats in the proportion of the level's shares", lambda level: level.nominal),
    "lower_limit_seats": ("Seats that the level does not lend", lambda level: level.lower),
    "upper_limit_seats": ("Seats with those that the level may borrow", lambda level: level.upper),
    "current_executing_requests": ("Requests of the level that run", lambda level: level.running),
    "current_inqueue_requests": ("Requests of the level that wait", lambda level: level.waiting),
}


class FlowFigures:
    def __init__(self, seats: Seats) -> None:
        self._seats = seats

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily

        levels = list(self._seats.levels.values())
        for name, (documentation, read) in _GAUGES.items():
            gauge = GaugeMetricFamily(f"{_PREFIX}_{name}", documentation, labels=[_LEVEL])
            for level in levels:
                gauge.add_metric([level.name], read(level))
            yield gauge
        rejected = CounterMetricFamily(
            f"{_PREFIX}_rejected_requests",
            "Requests that got 429, by level, FlowSchema and reason",
            labels=[_LEVEL, "flow_schema", "reason"],
        )
        for level in levels:
            for (schema, reason), count in level.rejected.items():
                rejected.add_metric([level.name, schema, reason], count)
        yield rejected
