"""A real plane with housekeeping for each test, asked through its own client."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from homeostat.plane import Settings, open_plane
from tests.operators.housekeeping.world import World


@pytest.fixture
async def world(data: Path) -> AsyncIterator[World]:
    async with open_plane(Settings(data=data, port=0)) as plane:
        yield World(plane.client)
