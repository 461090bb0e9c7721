"""A plane alone, for what a real cluster would only show more slowly."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from homeostat.plane import Settings, open_plane
from tests.cluster.fixtures import Api, create_namespace


@pytest.fixture
async def plane(data: Path) -> AsyncIterator[Api]:
    """`data` is a copy of a directory in which a plane was started once."""
    async with open_plane(Settings(data=data, port=0, operators=frozenset())) as plane:
        yield Api(plane.client, plane.kubeconfig_path, await create_namespace(plane.client))
