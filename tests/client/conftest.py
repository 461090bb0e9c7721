"""A real plane for each test, reached in process and over HTTP, and a real cluster: what holds of one holds of all."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from homeostat.client.base import Client
from homeostat.client.connect import open_client
from homeostat.client.endpoint.endpoint import Endpoint
from homeostat.client.endpoint.kubeconfig import load_endpoint
from homeostat.plane import Plane, Settings, open_plane
from tests.cluster.fixtures import create_namespace


@pytest.fixture
async def plane(started_once: Path, tmp_path: Path) -> AsyncIterator[Plane]:
    data = shutil.copytree(started_once, tmp_path / "data")
    async with open_plane(Settings(data=data, port=0, operators=frozenset())) as plane:
        yield plane


@pytest.fixture
def endpoint(plane: Plane) -> Endpoint:
    return load_endpoint([plane.kubeconfig_path])


@pytest.fixture(params=["in process", "http", pytest.param("cluster", marks=pytest.mark.cluster)])
async def client(request: pytest.FixtureRequest, plane: Plane, endpoint: Endpoint) -> AsyncIterator[Client]:
    if request.param == "in process":
        yield plane.client
        return
    server = endpoint if request.param == "http" else request.getfixturevalue("cluster").endpoint
    async with open_client(server) as client:
        yield client


@pytest.fixture
async def home(client: Client) -> str:
    """A namespace of the test's own."""
    return await create_namespace(client)
