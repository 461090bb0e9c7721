"""The dashboard of a plane, open to this machine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp

from homeostat.plane import Plane
from tests.web.dashboard.site import Site
from tests.web.rest import serve_rest


@asynccontextmanager
async def open_site(plane: Plane) -> AsyncIterator[Site]:
    async with (
        serve_rest(plane.client, plane.private, namespace="default", environment={}, is_open=True) as server,
        aiohttp.ClientSession() as session,
    ):
        yield Site(session, f"http://127.0.0.1:{server.port}")
