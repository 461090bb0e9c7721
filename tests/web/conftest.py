"""A plane for each test, and a webhook over it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from homeostat.plane import Plane, Settings, open_plane
from tests.web.reviewing import Webhook, open_webhook


@pytest.fixture
async def plane(data: Path) -> AsyncIterator[Plane]:
    async with open_plane(Settings(data=data, port=0, operators=frozenset())) as plane:
        yield plane


@pytest.fixture
async def webhook(plane: Plane) -> AsyncIterator[Webhook]:
    async with open_webhook(plane.client) as webhook:
        await webhook.is_ready()
        yield webhook
