from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.operators.actions.inputs.input_plane import InputPlane, opened
from tests.operators.actions.inputs.rabbitmq import RabbitMq, running_rabbitmq


@pytest.fixture
async def plane(data: Path, tmp_path: Path) -> AsyncIterator[InputPlane]:
    async with opened(data, tmp_path / "operator") as (plane, operator), operator().running():
        await plane.declare_type()
        await plane.become({})
        yield plane


@pytest.fixture(scope="package")
def broker() -> Iterator[RabbitMq]:
    """It takes some seconds to start; each test has queues of its own."""
    with running_rabbitmq() as server:
        yield server
