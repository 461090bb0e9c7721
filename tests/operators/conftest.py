"""A real plane with housekeeping for each test, asked through its own client."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from homeostat.plane import Settings, open_plane
from tests.operators.housekeeping.world import World


@pytest.fixture(scope="session")
def first_start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory of a plane that has been started once, so that no test waits for keys and roles."""
    data = tmp_path_factory.mktemp("plane")

    async def start() -> None:
        async with open_plane(Settings(data=data, port=0, operators=frozenset())):
            pass

    asyncio.run(start())
    return data


@pytest.fixture
def data(first_start: Path, tmp_path: Path) -> Path:
    return shutil.copytree(first_start, tmp_path / "data")


@pytest.fixture
async def world(data: Path) -> AsyncIterator[World]:
    async with open_plane(Settings(data=data, port=0)) as plane:
        yield World(plane.client)
