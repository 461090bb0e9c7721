"""The metrics of this process (CPU, memory, open files, start), by the names that all Prometheus clients use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric


class ProcessFigures:
    """There are none where the system has no `/proc`."""

    def collect(self) -> Iterable[Metric]:
        from prometheus_client.process_collector import ProcessCollector

        return ProcessCollector(registry=None).collect()
