"""What is counted and logged of the REST API."""

from __future__ import annotations

import logging
import re
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from homeostat.client.base import Client
from homeostat.edge.metrics.exposition import exposition
from homeostat.runtime.faces.face import Figures
from homeostat.runtime.faces.private import NamespaceSecrets
from homeostat.testing.eventually import eventually
from homeostat.web.kit.metrics import RestFigures
from tests.web.actions.calling import Api
from tests.web.actions.listening import listening
from tests.web.actions.test_served import up
from tests.web.rest import serve_rest


@pytest.fixture
def kept() -> Figures:
    return Figures(lambda _: None)


@pytest.fixture
def figures(kept: Figures) -> RestFigures:
    return kept.once(RestFigures)


@pytest.fixture
async def counted(client: Client, kept: Figures) -> AsyncIterator[Api]:
    private = NamespaceSecrets(client, "kube-system")
    async with (
        serve_rest(client, private, namespace="default", environment={}, is_open=True, figures=kept) as server,
        aiohttp.ClientSession() as session,
    ):
        yield Api(session, f"http://127.0.0.1:{server.port}")


def shown(figures: RestFigures) -> dict[str, float]:
    lines = exposition(figures).decode().splitlines()
    return {name: float(value) for name, _, value in (each.rpartition(" ") for each in lines if each[0] != "#")}


async def test_requests_are_counted_by_route_and_code(counted: Api, figures: RestFigures) -> None:
    for path in ("/resources/1", "/resources/2", "/resources", "/nowhere", "/nowhere/else"):
        await counted.get(path)
    told = shown(figures)
    requests = {name: count for name, count in told.items() if name.startswith("homeostat_rest_requests_total")}
    assert requests == {
        'homeostat_rest_requests_total{code="404",method="GET",route="/api/v1/resources/{id}"}': 2,
        'homeostat_rest_requests_total{code="200",method="GET",route="/api/v1/resources"}': 1,
        'homeostat_rest_requests_total{code="404",method="GET",route=""}': 2,
    }
    times = 'homeostat_rest_request_duration_seconds_count{method="GET",route="/api/v1/resources/{id}"}'
    assert told[times] == 2


async def test_who_follows_events_is_counted_while_there(counted: Api, figures: RestFigures) -> None:
    async with listening(counted.url):
        assert shown(figures)["homeostat_rest_event_streams"] == 1
    await eventually(lambda: shown(figures)["homeostat_rest_event_streams"] == 0)


async def test_a_request_is_a_line_of_the_log_without_what_it_asked(
    counted: Api, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "homeostat.web.kit.answering"):
        await counted.get("/resources?status=hush", authorization="Bearer hush")
    (record,) = (each for each in caplog.records if each.message == "request")
    told = vars(record)
    assert (told["method"], told["path"], told["status"]) == ("GET", "/api/v1/resources", 200)
    assert "hush" not in str(told)


def test_a_plane_shows_them_with_its_own(tmp_path: Path) -> None:
    with up(tmp_path / "plane", "--open", "--faces-port", "0") as served:
        served.run("curl http://localhost:8000/health")
        plane = re.search(r"at (http://\S+)", served.welcome)
        assert plane is not None
        with urllib.request.urlopen(f"{plane[1]}/metrics") as response:
            page = response.read().decode()
    assert 'homeostat_rest_requests_total{code="200",method="GET",route="/health"} 1.0' in page
    assert "apiserver_request_total" in page
