"""The endpoints of image updates, as gitops-operator serves them."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from homeostat.operators.images.engine.annotations import Settings as Config
from homeostat.plane import Settings, open_plane
from homeostat.runtime.faces.listeners import FaceChoice, Place
from homeostat.testing.eventually import eventually
from tests.operators.images.scenarios import OLD
from tests.operators.images.stage import DEPLOYMENT_FILE, Stage, staged


@pytest.fixture(scope="module")
def first_start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = tmp_path_factory.mktemp("plane")

    async def start() -> None:
        async with open_plane(Settings(data=data, port=0, operators=frozenset())):
            pass

    asyncio.run(start())
    return data


@pytest.fixture
async def stage(first_start: Path, tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(shutil.copytree(first_start, tmp_path / "data"), tmp_path / "git") as stage:
        yield stage


async def _is_tracked(stage: Stage, count: int) -> None:
    await eventually(lambda: stage.get("/health"), lambda each: each["tracked_deployments"] == count)


async def test_debug_has_the_fields_of_the_original_in_their_order(stage: Stage) -> None:
    made = await stage.deploy("plain")
    await _is_tracked(stage, 1)
    (entry,) = await stage.get("/debug")
    assert list(entry) == ["container", "name", "namespace", "annotations", "version", "config"]
    assert (entry["container"], entry["version"], entry["name"]) == ("org/app", OLD, "plain")
    assert entry["annotations"] == made["metadata"]["annotations"]
    assert list(entry["config"]) == list(Config.__struct_fields__)
    assert entry["config"]["observe_branch"] == "master"
    assert entry["config"]["registry_url"] is None


async def test_status_is_a_table_with_the_widths_of_the_original(stage: Stage) -> None:
    assert (await stage.get("/status")).startswith("gitops-operator status\ntracked deployments: 0\n\n")
    await stage.deploy("twice")
    await _is_tracked(stage, 1)
    assert (await stage.get("/status")).splitlines() == [
        "gitops-operator status",
        "tracked deployments: 1",
        "",
        "NAMESPACE    DEPLOYMENT               ENABLED  BRANCH   IMAGE",
        f"images       twice                    true     master   org/app:{OLD}",
    ]


async def test_metrics_name_results_and_requests(stage: Stage) -> None:
    stage.repository("app-web", {"a": "b"})
    stage.repository("man-web", {"apps/web.yaml": DEPLOYMENT_FILE.format(image=f"org/app:{OLD}")})
    await stage.deploy("web")
    await stage.reconcile()
    text = await stage.get("/metrics")
    for line in (
        'gitops_reconcile_total{action="patched"} 1.0',
        "gitops_tracked_deployments 1.0",
        'gitops_git_operations_total{op="push",result="success"} 1.0',
        'axum_http_requests_total{endpoint="/reconcile",method="GET",status="200"} 1.0',
        'axum_http_requests_pending{endpoint="/metrics",method="GET"} 1.0',
    ):
        assert line in text, line


async def test_other_methods_and_paths_are_refused(stage: Stage) -> None:
    async with aiohttp.ClientSession() as session:
        async with session.post(f"{stage.url}/reconcile") as answer:
            assert answer.status == 405
        async with session.get(f"{stage.url}/nothing") as answer:
            assert answer.status == 404
        async with session.get(f"{stage.url}/reconcile", headers={"Host": "evil.example"}) as answer:
            assert answer.status == 403
        # An image or a link on the page of another port, for which browsers send no Origin.
        for site in ("cross-site", "same-site"):
            async with session.get(f"{stage.url}/reconcile", headers={"Sec-Fetch-Site": site}) as answer:
                assert answer.status == 403


async def test_where_credentials_are_needed_only_health_is_free(first_start: Path, tmp_path: Path) -> None:
    settings = Settings(
        data=shutil.copytree(first_start, tmp_path / "data"),
        port=0,
        operators=frozenset({"images"}),
        environment={},
        faces=FaceChoice(own={"images": Place("127.0.0.1", 0)}, without=frozenset({"image-hooks", "dashboard"})),
    )
    async with open_plane(settings) as plane, aiohttp.ClientSession() as session:
        url = plane.faces[0].url
        for path, status in (("/health", 200), ("/reconcile", 401), ("/debug", 401), ("/metrics", 401)):
            async with session.get(f"{url}{path}", ssl=False) as answer:
                assert answer.status == status, path
