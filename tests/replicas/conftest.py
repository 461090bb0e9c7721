"""Three replicas on one PostgreSQL for the tests that leave them whole, and a server for those that do not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from uuid import uuid4

import pytest

from homeostat.client.base import Client
from tests.postgres import MissingPostgresError, Postgres, running_postgres
from tests.replicas.replica import Replica, open_clients, running_replicas


@pytest.fixture(scope="package")
def postgres() -> Iterator[Postgres]:
    try:
        with running_postgres() as server:
            yield server
    except MissingPostgresError as error:
        pytest.skip(str(error))


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
