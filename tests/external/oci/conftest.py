from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from homeostat.external.rest.client import RestClient


@pytest.fixture
async def client() -> AsyncIterator[RestClient]:
    async with RestClient() as client:
        yield client
