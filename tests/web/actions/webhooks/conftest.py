"""An API with an administrator, and a webhook server of the test's own on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from homeostat.plane import Plane
from tests.web.actions.webhooks.hook_server import HookServer, open_hook_server
from tests.web.faces import ADMIN, Caller, Face, open_face


@pytest.fixture
async def hooks() -> AsyncIterator[HookServer]:
    async with open_hook_server() as server:
        yield server


@pytest.fixture
async def face(plane: Plane) -> AsyncIterator[Face]:
    async with open_face(plane.client, {**ADMIN, "HOMEOSTAT_HOOKS_ALLOW_PRIVATE": "1"}) as face:
        yield face


@pytest.fixture
async def admin(face: Face) -> Caller:
    return await face.nobody.login("admin", "correct horse")
