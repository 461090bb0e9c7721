from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from homeostat.store.base import Store
from tests.postgres import Postgres, running_postgres
from tests.store.contract import PostgresFactory, SqliteFactory, StoreFactory


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with running_postgres() as server:
        yield server


@pytest.fixture
def factory(postgres: Postgres) -> PostgresFactory:
    return PostgresFactory(postgres.url)


@pytest.fixture
async def tables(factory: PostgresFactory) -> AsyncIterator[Any]:
    """A connection of the test's own to the store's tables."""
    connection = await asyncpg.connect(factory.url, server_settings={"search_path": factory.schema})
    yield connection
    await connection.close()


@pytest.fixture(params=["sqlite", "postgres"])
def store_factory(request: pytest.FixtureRequest, tmp_path: Path) -> StoreFactory:
    """Every store passes the same suite: a further one is a further parameter."""
    if request.param == "postgres":
        return PostgresFactory(request.getfixturevalue("postgres").url)
    return SqliteFactory(tmp_path)


@pytest.fixture
async def store(store_factory: StoreFactory) -> AsyncIterator[Store]:
    opened = await store_factory.open()
    yield opened
    await opened.close()
