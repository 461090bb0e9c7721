"""A list page by page, decoded to a struct: only the fields that the struct has, of however many objects.

_roles = msgspec.json.Decoder(Page[RoleObject])
async for roles in pages(client, path, _roles):
    ...
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final, Generic, TypeVar

import msgspec

from homeostat.client.base import Client

T = TypeVar("T")
_USUAL: Final = 500


class _Position(msgspec.Struct, frozen=True):
    token: str = msgspec.field(name="continue", default="")


class Page(msgspec.Struct, Generic[T], frozen=True):
    metadata: _Position
    items: list[T] | None = None
    """null if there are none, as kube-apiserver sends it."""


async def pages(
    client: Client, path: str, decoder: msgspec.json.Decoder[Page[T]], *, limit: int = _USUAL
) -> AsyncIterator[list[T]]:
    """At most `limit` objects at a time."""
    token = ""
    while True:
        page = decoder.decode(await client.fetch("GET", path, {"limit": limit, "continue": token}))
        yield page.items or []
        if not (token := page.metadata.token):
            return
        # A call in process may not wait for anything; other requests come between two pages.
        await asyncio.sleep(0)
