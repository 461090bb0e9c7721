"""A plane with the actions operator, a shelf for its resources, and the REST API over it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from homeostat.client.base import Client
from homeostat.edge.server import serve
from homeostat.operators import actions
from homeostat.runtime.faces.hosting import LIMITS
from homeostat.testing.plane import open_test_plane
from homeostat.web.actions.app import refuse, rest_app
from homeostat.web.actions.face import Face
from homeostat.web.kit.gate import OpenGate
from tests.web.actions.calling import NOTE_TYPE, Api
from tests.web.actions.replicas import replica
from tests.web.actions.shelf import World
from tests.web.rest import open_face


@pytest.fixture
def environment() -> dict[str, str]:
    """What the operator is started with."""
    return {}


@pytest.fixture
def has_guards() -> bool:
    """Whether the server asks the operator before it writes, as a plane does and a cluster does not."""
    return True


@pytest.fixture
async def client(shelf: World, data: Path, environment: dict[str, str], has_guards: bool) -> AsyncIterator[Client]:
    async with open_test_plane(
        data, actions, has_housekeeping=True, has_guards=has_guards, environment=environment
    ) as plane:
        yield plane.client


@pytest.fixture
async def face(client: Client) -> AsyncIterator[Face]:
    async with open_face(client, gate=OpenGate()) as face:
        yield face


@pytest.fixture
async def api(face: Face) -> AsyncIterator[Api]:
    server = await serve(rest_app(face), limits=LIMITS, refuse=refuse)
    async with aiohttp.ClientSession() as session:
        yield Api(session, f"http://127.0.0.1:{server.port}")
    await server.stop()


@pytest.fixture
async def notes(api: Api) -> Api:
    """With the type of notes."""
    await api.made("/resource-types", NOTE_TYPE)
    return api


@pytest.fixture
async def served(client: Client) -> AsyncIterator[Api]:
    """With the type of notes, and with events."""
    async with replica(client) as (api, _):
        await api.made("/resource-types", NOTE_TYPE)
        yield api
