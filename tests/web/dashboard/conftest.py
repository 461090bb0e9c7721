"""A plane with the actions operator and a shelf for its resources, and the dashboard over it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import aiohttp
import pytest

from homeostat.objects.json import JsonObject
from homeostat.operators import actions
from homeostat.operators.actions.plugins.catalog import ACTIONS
from homeostat.plane import Plane
from homeostat.testing.plane import open_test_plane
from homeostat.web.actions import serving
from homeostat.web.actions.serving import serve_rest
from homeostat.web.identity.identity import open_identity
from tests.web.actions.shelf import ShelfPlugin, World
from tests.web.dashboard.site import Site
from tests.web.faces import ADMIN, CHEAP

NOTE_TYPE: JsonObject = {
    "name": "Note",
    "version": "v1",
    "description": "A note on the <shelf>",
    "schema": {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "combination": {"type": "string", "format": "password"},
            "login": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    },
}


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setitem(ACTIONS, "shelf", "tests.web.actions.shelf:ShelfPlugin")
    monkeypatch.setattr(ShelfPlugin, "world", World())
    return ShelfPlugin.world


@pytest.fixture
async def plane(shelf: World, data: Path) -> AsyncIterator[Plane]:
    async with open_test_plane(data, actions, has_housekeeping=True, environment={}) as plane:
        yield plane


@pytest.fixture
async def site(plane: Plane) -> AsyncIterator[Site]:
    """Open to this machine, with the type of notes."""
    async with (
        serve_rest(plane.client, plane.private, namespace="default", environment={}, is_open=True) as server,
        aiohttp.ClientSession() as session,
    ):
        site = Site(session, f"http://127.0.0.1:{server.port}")
        await site.declare("/resource-types", NOTE_TYPE)
        yield site


@pytest.fixture
async def guarded(plane: Plane, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Site]:
    """For those who sign in; `ADMIN` may."""
    monkeypatch.setattr(serving, "open_identity", partial(open_identity, cost=CHEAP))
    async with (
        serve_rest(
            plane.client,
            plane.private,
            namespace="default",
            environment=ADMIN,
            is_open=False,
            redeem=plane.sign_in.redeem,
        ) as server,
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session,
    ):
        yield Site(session, f"http://127.0.0.1:{server.port}")
