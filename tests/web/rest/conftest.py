"""A plane with the actions operator, and a shelf for its resources."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from homeostat.client.base import Client
from homeostat.operators import actions
from homeostat.operators.actions.discovery import ACTIONS
from homeostat.testing.plane import open_test_plane
from tests.web.rest.shelf import ShelfPlugin, World


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setitem(ACTIONS, "shelf", "tests.web.rest.shelf:ShelfPlugin")
    monkeypatch.setattr(ShelfPlugin, "world", World())
    return ShelfPlugin.world


@pytest.fixture
async def client(shelf: World, tmp_path: Path) -> AsyncIterator[Client]:
    async with open_test_plane(tmp_path / "plane", actions, has_housekeeping=True) as plane:
        yield plane.client
