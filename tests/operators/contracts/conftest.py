"""A plane alone, for what a real cluster would only show more slowly, and registries."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from homeostat.plane import Settings, open_plane
from tests.cluster.fixtures import Api, create_namespace
from tests.external.registries import running_registry
from tests.operators.contracts.pushing import HASH, USER


@pytest.fixture
async def plane(started_once: Path, tmp_path: Path) -> AsyncIterator[Api]:
    data = shutil.copytree(started_once, tmp_path / "data")
    async with open_plane(Settings(data=data, port=0, operators=frozenset())) as plane:
        yield Api(plane.client, plane.kubeconfig_path, await create_namespace(plane.client))


@pytest.fixture(scope="session")
def registries(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """One for everybody, and one that requires a password."""
    folder = tmp_path_factory.mktemp("private")
    (folder / "htpasswd").write_text(f"{USER}:{HASH}\n")
    auth = f"auth: {{htpasswd: {{realm: test, path: {folder}/htpasswd}}}}"
    with running_registry(tmp_path_factory.mktemp("public")) as public, running_registry(folder, auth) as private:
        yield public, private
