"""A plane for each test, a webhook over it, a shelf for its resources, and a browser."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from homeostat.operators.actions.plugins.catalog import ACTIONS
from homeostat.plane import Plane, Settings, open_plane
from tests.web.actions.shelf import ShelfPlugin, World
from tests.web.reviewing import Webhook, open_webhook

if TYPE_CHECKING:
    from playwright.async_api import Browser


@pytest.fixture
async def plane(data: Path) -> AsyncIterator[Plane]:
    async with open_plane(Settings(data=data, port=0, operators=frozenset())) as plane:
        yield plane


@pytest.fixture
async def webhook(plane: Plane) -> AsyncIterator[Webhook]:
    async with open_webhook(plane.client) as webhook:
        await webhook.is_ready()
        yield webhook


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setitem(ACTIONS, "shelf", "tests.web.actions.shelf:ShelfPlugin")
    monkeypatch.setattr(ShelfPlugin, "world", World())
    return ShelfPlugin.world


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    # Few tests need it, and its import takes long.
    from tests.web.browser import open_browser

    async with open_browser() as browser:
        yield browser
