from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from homeostat.external.rest.client import RestClient
from tests.external.registries import running_registry


@pytest.fixture
async def client() -> AsyncIterator[RestClient]:
    async with RestClient() as client:
        yield client


@pytest.fixture(scope="package")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A registry for everybody."""
    with running_registry(tmp_path_factory.mktemp("registry")) as host:
        yield host
