from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.operators.actions.inputs.estate import Estate, opened


@pytest.fixture
async def estate(data: Path, tmp_path: Path) -> AsyncIterator[Estate]:
    async with opened(data, tmp_path / "operator") as (estate, operator), operator().running():
        await estate.declare_type()
        await estate.become({})
        yield estate
