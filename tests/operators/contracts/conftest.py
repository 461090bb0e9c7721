"""A plane alone, for what a real cluster would only show more slowly, and registries."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from homeostat.plane import Settings, open_plane
from tests.cluster.fixtures import Api, create_namespace
from tests.operators.contracts.pushing import running_registries


@pytest.fixture
async def plane(started_once: Path, tmp_path: Path) -> AsyncIterator[Api]:
    data = shutil.copytree(started_once, tmp_path / "data")
    async with open_plane(Settings(data=data, port=0, operators=frozenset())) as plane:
        yield Api(plane.client, plane.kubeconfig_path, await create_namespace(plane.client))


@pytest.fixture(scope="session")
def registries(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """One for everybody, and one that requires a password."""
    with running_registries(tmp_path_factory) as addresses:
        yield addresses
