"""A file of a user's own: an operator without kinds that has a face."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.edge.server import Handler
from homeostat.objects.kind import CONFIG_MAP
from homeostat.runtime.faces.face import Face, Surroundings
from homeostat.runtime.setup import Setup

KINDS = ()


@asynccontextmanager
async def open_hello(surroundings: Surroundings) -> AsyncIterator[Handler]:
    async def hello(request: Request) -> Reply:
        found = await surroundings.client.get(CONFIG_MAP.path(surroundings.namespace))
        names = ",".join(each["metadata"]["name"] for each in found["items"])
        return Reply(200, f"{request.path} {names}".encode(), "text/plain")

    yield hello


FACES = (Face(name="hello", title="greetings", prefixes=("/hello",), open=open_hello),)


def register(setup: Setup) -> None:
    """Nothing to control."""
