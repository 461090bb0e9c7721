from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.operators.images.stage import Stage, staged


@pytest.fixture
async def stage(data: Path, tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(data, tmp_path / "git") as stage:
        yield stage


@pytest.fixture
async def registries(data: Path, tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(data, tmp_path / "git", has_registries=True) as stage:
        yield stage
