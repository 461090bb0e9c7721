"""Fixtures for all tests: a real cluster, and `api`, which is a plane and then that cluster.

A test that takes `api` states facts that hold on both. It works in `api.namespace`, which is its own: the cluster is
shared by the whole session, and nothing empties namespaces there.

Every session loads this module, so what only some tests need is imported where it is used.
"""

from __future__ import annotations

import asyncio
import shutil
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from homeostat.client.base import Client
    from homeostat.client.endpoint.endpoint import Endpoint
    from tests.cluster.running import Cluster


@dataclass(frozen=True, slots=True)
class Api:
    """A server under test, and an administrator's client of it."""

    client: Client
    kubeconfig: Path
    namespace: str

    @property
    def endpoint(self) -> Endpoint:
        from homeostat.client.endpoint.kubeconfig import load_endpoint

        return load_endpoint([self.kubeconfig])


async def create_namespace(client: Client, name: str = "", labels: dict[str, str] | None = None) -> str:
    """One that nobody else has, unless it is named, with the account that Pods need: no controller creates it here."""
    from homeostat.objects.errors import AlreadyExistsError

    name = name or f"test-{uuid.uuid4().hex[:10]}"
    await client.create("/api/v1/namespaces", {"metadata": {"name": name, "labels": labels or {}}})
    with suppress(AlreadyExistsError):
        await client.create(f"/api/v1/namespaces/{name}/serviceaccounts", {"metadata": {"name": "default"}})
    return name


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Started when first asked for, one in a session."""
    from tests.cluster.running import run_cluster

    with run_cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def started_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory of a plane that has been started once, so that no test waits for keys and roles."""
    from homeostat.plane import Settings, open_plane

    data = tmp_path_factory.mktemp("plane")

    async def start() -> None:
        async with open_plane(Settings(data=data, port=0, operators=frozenset())):
            pass

    asyncio.run(start())
    return data


@pytest.fixture
def data(started_once: Path, tmp_path: Path) -> Path:
    """A copy of it for one test: a plane opens it in a third of the time that it takes on an empty directory."""
    return shutil.copytree(started_once, tmp_path / "data")


@asynccontextmanager
async def _real(cluster: Cluster) -> AsyncIterator[Api]:
    from homeostat.client.connect import open_client

    async with open_client(cluster.endpoint) as client:
        yield Api(client, cluster.kubeconfig, await create_namespace(client))


@asynccontextmanager
async def _embedded(data: Path) -> AsyncIterator[Api]:
    from homeostat.plane import Settings, open_plane

    async with open_plane(Settings(data=data, port=0, operators=frozenset())) as plane:
        yield Api(plane.client, plane.kubeconfig_path, await create_namespace(plane.client))


@pytest.fixture
async def real_api(cluster: Cluster) -> AsyncIterator[Api]:
    """The cluster alone, for what has no equal on a plane."""
    async with _real(cluster) as api:
        yield api


@pytest.fixture(params=["plane", pytest.param("cluster", marks=pytest.mark.cluster)])
async def api(request: pytest.FixtureRequest, started_once: Path, tmp_path: Path) -> AsyncIterator[Api]:
    """A plane in this process, reached without a socket; then a real cluster over HTTP."""
    if request.param == "cluster":
        opening = _real(request.getfixturevalue("cluster"))
    else:
        opening = _embedded(shutil.copytree(started_once, tmp_path / "plane"))
    async with opening as api:
        yield api
