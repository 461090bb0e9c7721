"""A plane with the actions operator and a shelf for its resources, and the dashboard over it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import aiohttp
import pytest
from playwright.async_api import Browser, Page

from homeostat.objects.json import JsonObject
from homeostat.operators import actions
from homeostat.plane import Plane
from homeostat.testing.plane import open_test_plane
from homeostat.web.actions import serving
from homeostat.web.identity.identity import open_identity
from tests.web.actions.shelf import World
from tests.web.dashboard.open_site import open_site
from tests.web.dashboard.site import Site
from tests.web.faces import ADMIN, CHEAP
from tests.web.rest import serve_rest

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
async def plane(shelf: World, data: Path) -> AsyncIterator[Plane]:
    async with open_test_plane(data, actions, has_housekeeping=True, environment={}) as plane:
        yield plane


@pytest.fixture
async def site(plane: Plane) -> AsyncIterator[Site]:
    """Open to this machine, with the type of notes."""
    async with open_site(plane) as site:
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
            data=plane.settings.data,
            redeem=plane.sign_in.redeem,
        ) as server,
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session,
    ):
        yield Site(session, f"http://127.0.0.1:{server.port}")


@pytest.fixture
async def troubles() -> list[str]:
    """What the browser complains of."""
    return []


@pytest.fixture
async def tab(browser: Browser, troubles: list[str]) -> AsyncIterator[Page]:
    context = await browser.new_context(viewport={"width": 1280, "height": 900})
    tab = await context.new_page()
    tab.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
    tab.on("pageerror", lambda error: troubles.append(str(error)))
    yield tab
    await context.close()
