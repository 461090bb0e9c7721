from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from homeostat.client.connect import open_client
from homeostat.plane import Settings, open_plane
from tests.cluster.fixtures import Api
from tests.operators.images.stage import Stage, managed, staged


@pytest.fixture
async def stage(data: Path, tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(data, tmp_path / "git") as stage:
        yield stage


@pytest.fixture
async def registries(data: Path, tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(data, tmp_path / "git", has_registries=True) as stage:
        yield stage


@pytest.fixture(params=["plane", pytest.param("cluster", marks=pytest.mark.cluster)])
async def anywhere(request: pytest.FixtureRequest, data: Path, tmp_path: Path) -> AsyncIterator[Stage]:
    """With registries: a plane with its HTTP API, and then the operator beside a real API server."""
    if request.param == "plane":
        async with staged(data, tmp_path / "git", has_registries=True) as stage:
            yield stage
        return
    cluster = request.getfixturevalue("cluster")
    async with (
        open_client(cluster.endpoint) as client,
        managed(Api(client, cluster.kubeconfig, ""), tmp_path / "git", has_registries=True) as stage,
    ):
        yield stage


@pytest.fixture
async def plane(started_once: Path, tmp_path: Path) -> AsyncIterator[Api]:
    """Without operators: they run in processes of their own."""
    data = shutil.copytree(started_once, tmp_path / "data")
    async with open_plane(Settings(data=data, port=0, operators=frozenset())) as plane:
        yield Api(plane.client, plane.kubeconfig_path, "")
