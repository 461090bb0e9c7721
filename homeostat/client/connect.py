"""Opens a client with retries for an endpoint, for long-running programs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from homeostat.client.base import Client
from homeostat.client.endpoint.endpoint import Endpoint
from homeostat.client.http.retries import Patience, Retrying
from homeostat.client.http.transport import open_transport


@asynccontextmanager
async def open_client(
    endpoint: Endpoint, *, patience: Patience | None = None, on_warning: Callable[[str], None] = lambda _: None
) -> AsyncIterator[Client]:
    async with open_transport(endpoint, on_warning=on_warning) as transport:
        yield Client(Retrying(transport, patience), bearing=lambda token: Retrying(transport.bearing(token), patience))
