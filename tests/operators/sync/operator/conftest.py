from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.cluster.fixtures import Api
from tests.operators.sync.cases import Rest, rest_server
from tests.operators.sync.operator.stage import Stage, staged


@pytest.fixture(scope="module")
def rest() -> Iterator[Rest]:
    with rest_server() as rest:
        yield rest


@pytest.fixture
async def stage(api: Api, rest: Rest, tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(api, rest, tmp_path / "stage") as stage:
        yield stage
