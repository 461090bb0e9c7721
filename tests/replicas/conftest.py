"""Three replicas on one PostgreSQL for the tests that leave them whole, and a server for those that do not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from uuid import uuid4

import asyncpg
import pytest

from homeostat.client.base import Client
from tests.postgres import Postgres, running_postgres
from tests.replicas.replica import Replica, open_clients, running_replicas


@pytest.fixture(scope="package")
def postgres() -> Iterator[Postgres]:
    with running_postgres() as server:
        yield server


@pytest.fixture
def empty_database(postgres: Postgres) -> str:
    """Of its own: a plane with another data directory has another seal."""
    name = f"d{uuid4().hex}"

    async def make() -> None:
        owner = await asyncpg.connect(postgres.url)
        await owner.execute(f"CREATE DATABASE {name}")
        await owner.close()

    asyncio.run(make())
    return postgres.url_at(postgres.port).replace("/postgres", f"/{name}")


@pytest.fixture(scope="package")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("replicas") / "data"


@pytest.fixture(scope="package")
def replicas(postgres: Postgres, data: Path) -> Iterator[Sequence[Replica]]:
    with running_replicas(data, postgres.url_at(postgres.port)) as running:
        yield running


@pytest.fixture
async def clients(replicas: Sequence[Replica]) -> AsyncIterator[list[Client]]:
    async with open_clients([replica.endpoint for replica in replicas]) as opened:
        yield opened


@pytest.fixture
async def namespace(clients: list[Client]) -> str:
    name = f"test-{uuid4().hex[:10]}"
    await clients[0].create("/api/v1/namespaces", {"metadata": {"name": name}})
    return name
