"""Whether there are objects of some kinds, by a list of one object of each.

A start asks this of every operator that sleeps, so it imports no watches and no caches; `waking` waits for the first.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from homeostat.client.base import Client
from homeostat.objects.errors import NotFoundError
from homeostat.objects.kind import Kind
from homeostat.runtime.watch.source import accept_metadata


async def has_objects(
    client: Client, kinds: Iterable[Kind], *, namespace: str = "", if_served: Container[Kind] = ()
) -> bool:
    """Whether an object of one of the kinds exists; lists one of each."""
    for kind in kinds:
        try:
            if await has_object(client, kind, namespace):
                return True
        except NotFoundError:
            if kind not in if_served:
                raise
    return False


async def has_object(client: Client, kind: Kind, namespace: str) -> bool:
    accept = accept_metadata("PartialObjectMetadataList")
    page = await client.request("GET", kind.path(namespace), {"limit": 1}, accept=accept)
    return bool(page["items"])
