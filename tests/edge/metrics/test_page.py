"""One text of the metrics answers everybody who waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from homeostat.edge.metrics.page import MetricsPage


class Counted:
    def __init__(self) -> None:
        self.reads = 0

    def collect(self) -> Iterator[Metric]:
        self.reads += 1
        yield GaugeMetricFamily("reads", "How often it was read", value=self.reads)


async def test_those_who_ask_while_a_text_is_made_share_the_next() -> None:
    counted = Counted()
    page = MetricsPage(counted)
    texts = await asyncio.gather(*(page.text() for _ in range(500)))
    assert counted.reads <= 2
    assert all(text.startswith(b"# HELP reads") for text in texts)


async def test_a_text_is_never_older_than_the_request() -> None:
    counted = Counted()
    page = MetricsPage(counted)
    assert b"reads 1.0" in await page.text()
    assert b"reads 2.0" in await page.text()


async def test_a_client_that_leaves_does_not_keep_the_others_waiting() -> None:
    page = MetricsPage(Counted())
    leaving, staying = asyncio.create_task(page.text()), asyncio.create_task(page.text())
    await asyncio.sleep(0)
    leaving.cancel()
    assert b"reads" in await asyncio.wait_for(staying, 30)
