"""What a probe and Prometheus are answered, over a real socket."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import aiohttp
import pytest
from prometheus_client.metrics_core import Metric

from homeostat.edge.metrics.exposition import CONTENT_TYPE, rendered
from homeostat.runtime.telemetry.health import MOST_SCRAPES, Check, Checks, serve_health
from homeostat.runtime.telemetry.metrics import Metrics


def fine() -> str:
    return ""


def away() -> str:
    return "the lease cannot be reached"


@asynccontextmanager
async def asking(
    *, live: Checks | None = None, ready: Checks | None = None, metrics: Metrics | None = None
) -> AsyncIterator[aiohttp.ClientSession]:
    async with (
        serve_health(metrics=metrics or Metrics(), live=live, ready=ready) as server,
        aiohttp.ClientSession(f"http://127.0.0.1:{server.port}") as session,
    ):
        yield session


@pytest.mark.parametrize(
    ("target", "status", "body"),
    [
        pytest.param("/healthz", 200, "OK", id="alive"),
        pytest.param("/livez", 200, "OK", id="alive by its newer name"),
        pytest.param(
            "/readyz",
            503,
            "NOT READY\n[+]informers ok\n[-]leader failed: the lease cannot be reached\nreadyz check failed\n",
            id="a failure tells what it is",
        ),
        pytest.param("/healthz?verbose", 200, "[+]loop ok\nhealthz check passed\n", id="verbose"),
        pytest.param("/livez?verbose=true", 200, "[+]loop ok\nlivez check passed\n", id="verbose with a value"),
        pytest.param("/readyz?exclude=leader", 200, "READY", id="one left out"),
        pytest.param("/readyz?verbose&exclude=leader", 200, "[+]informers ok\nreadyz check passed\n", id="both"),
        pytest.param("/readyz/informers", 200, "READY", id="one alone"),
        pytest.param(
            "/readyz/leader",
            503,
            "NOT READY\n[-]leader failed: the lease cannot be reached\nreadyz check failed\n",
            id="one alone that fails",
        ),
        pytest.param("/readyz/other", 404, "readyz has no check other\n", id="no such check"),
        pytest.param("/debug", 404, "no page /debug\n", id="no such page"),
    ],
)
async def test_a_probe_is_answered(target: str, status: int, body: str) -> None:
    ready = {"informers": fine, "leader": away}
    async with asking(live={"loop": fine}, ready=ready) as session, session.get(target) as response:
        assert (response.status, await response.text()) == (status, body)
        assert response.content_type == "text/plain"


async def test_without_checks_all_is_well() -> None:
    async with asking() as session, session.get("/readyz") as response:
        assert (response.status, await response.text()) == (200, "READY")


async def test_a_check_that_comes_later_counts() -> None:
    ready: dict[str, Check] = {}
    async with asking(ready=ready) as session:
        ready["leader"] = away
        async with session.get("/readyz") as response:
            assert response.status == 503


async def test_a_check_is_asked_each_time() -> None:
    reasons = ["not yet", ""]
    async with asking(ready={"informers": lambda: reasons.pop(0)}) as session:
        statuses = []
        for _ in range(2):
            async with session.get("/readyz") as response:
                statuses.append(response.status)
    assert statuses == [503, 200]


async def test_metrics_are_what_prometheus_expects() -> None:
    metrics = Metrics()
    metrics.reconciled("images", "decided", 0.02)
    async with asking(metrics=metrics) as session, session.get("/metrics") as response:
        assert response.headers["Content-Type"] == CONTENT_TYPE
        assert 'homeostat_reconciles_total{controller="images",outcome="decided"} 1.0' in await response.text()


class SlowMetrics(Metrics):
    """A page that takes until somebody says so."""

    def __init__(self) -> None:
        super().__init__()
        self.is_over = threading.Event()

    def collect(self) -> Iterator[Metric]:
        yield rendered("slow", "", "gauge", self._lines, list)

    def _lines(self) -> str:
        self.is_over.wait(30)
        return "slow 1\n"


async def test_those_who_wait_for_metrics_are_few_and_keep_out_no_probe() -> None:
    metrics = SlowMetrics()
    async with asking(metrics=metrics) as session:

        async def status(page: str) -> int:
            async with session.get(page) as response:
                return response.status

        scrapes = [asyncio.create_task(status("/metrics")) for _ in range(MOST_SCRAPES + 20)]
        refused, _ = await asyncio.wait(scrapes, return_when=asyncio.FIRST_COMPLETED)
        assert {each.result() for each in refused} == {503}
        assert await status("/healthz") == 200
        metrics.is_over.set()
        statuses = await asyncio.gather(*scrapes)
    assert (statuses.count(200), statuses.count(503)) == (MOST_SCRAPES, 20)


@pytest.mark.parametrize("page", ["/healthz", "/livez", "/readyz", "/metrics"])
async def test_nothing_but_reading_is_allowed(page: str) -> None:
    async with asking() as session:
        async with session.head(page) as response:
            assert (response.status, await response.read()) == (200, b"")
        async with session.post(page) as response:
            assert (response.status, response.headers["Allow"]) == (405, "GET, HEAD")


async def test_it_listens_on_loopback_by_default_and_only_inside_the_block() -> None:
    async with serve_health(metrics=Metrics()) as server:
        port = server.port
        listener = server._listener
        assert listener is not None
        assert listener.sockets[0].getsockname()[0] == "127.0.0.1"
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.ClientConnectorError):
            await session.get(f"http://127.0.0.1:{port}/healthz")
