from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from homeostat.store.base import Store
from tests.store.contract import SqliteFactory, StoreFactory


@pytest.fixture(params=["sqlite"])
def store_factory(request: pytest.FixtureRequest, tmp_path: Path) -> StoreFactory:
    """Every store passes the same suite: a further one is a further parameter."""
    factories = {"sqlite": SqliteFactory}
    return factories[request.param](tmp_path)


@pytest.fixture
async def store(store_factory: StoreFactory) -> AsyncIterator[Store]:
    opened = await store_factory.open()
    yield opened
    await opened.close()
