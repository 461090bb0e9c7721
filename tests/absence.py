"""Whether an object is gone, for tests that wait until it is."""

from __future__ import annotations

from homeostat.client.base import Client
from homeostat.objects.errors import NotFoundError


async def is_gone(client: Client, path: str) -> bool:
    try:
        await client.get(path)
    except NotFoundError:
        return True
    return False
