"""An API with one administrator, who has logged in."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from homeostat.plane import Plane
from tests.web.faces import ADMIN, Caller, Face, open_face


@pytest.fixture
async def face(plane: Plane) -> AsyncIterator[Face]:
    async with open_face(plane.client, ADMIN) as face:
        yield face


@pytest.fixture
async def nobody(face: Face) -> Caller:
    return face.nobody


@pytest.fixture
async def admin(nobody: Caller) -> Caller:
    return await nobody.login("admin", "correct horse")
