"""The page of metrics, produced beside the event loop.

Thousands of series take tens of milliseconds to print. So the text is made in a thread, one at a time, and one text
answers everybody who asked before it was begun: it is never older than the request.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from homeostat.edge.imports import import_in_thread
from homeostat.edge.metrics.exposition import Collector, exposition
from homeostat.edge.threads import in_thread

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric


class MetricsPage:
    def __init__(self, *collectors: Collector) -> None:
        self._collectors = collectors
        self._lock = asyncio.Lock()
        self._asked = 0
        self._answered = 0
        """How many of those who asked the text answers."""
        self._text = b""

    async def text(self) -> bytes:
        self._asked += 1
        own = self._asked
        async with self._lock:
            if self._answered < own:
                asked = self._asked
                self._text = await self._make()
                self._answered = asked
            return self._text

    async def _make(self) -> bytes:
        await import_in_thread("prometheus_client")
        found: list[Metric] = []
        for collector in self._collectors:
            for metric in collector.collect():
                found.append(metric)
                await asyncio.sleep(0)
        return await in_thread(lambda: exposition(_Collected(found)), user="metrics")


class _Collected:
    def __init__(self, metrics: list[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> list[Metric]:
        return self._metrics
