from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.operators.actions.inputs.estate import Estate, opened
from tests.operators.actions.inputs.rabbitmq import RabbitMq, running_rabbitmq


@pytest.fixture
async def estate(data: Path, tmp_path: Path) -> AsyncIterator[Estate]:
    async with opened(data, tmp_path / "operator") as (estate, operator), operator().running():
        await estate.declare_type()
        await estate.become({})
        yield estate


@pytest.fixture(scope="package")
def broker() -> Iterator[RabbitMq]:
    """It takes some seconds to start; each test has queues of its own."""
    with running_rabbitmq() as server:
        yield server
