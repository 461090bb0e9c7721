"""Waits for the first object of some kinds, to wake a sleeping operator.

A sleeping operator is not imported and not set up. It costs one metadata watch for each kind that wakes it. A kind in
`if_served` may be missing on the server: then the operator wakes when it is defined. `presence` answers whether there
is one now.
"""

from __future__ import annotations

import asyncio
from collections.abc import Container, Iterable
from functools import partial

import msgspec

from homeostat.client.base import Client, UnreachableError
from homeostat.objects.errors import ApiError, NotFoundError
from homeostat.objects.kind import DEFINITION, Kind
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.cache.informer import Informers
from homeostat.runtime.presence import has_object
from homeostat.runtime.watch.source import Source


class _Metadata(msgspec.Struct, frozen=True, rename="camel", gc=False):
    name: str
    namespace: str = ""
    resource_version: str = ""


class _Seen(msgspec.Struct, frozen=True, gc=False):
    metadata: _Metadata


async def _source(client: Client, kind: Kind, namespace: str) -> Source | None:
    """The objects of a kind; its definition, where it is not served yet. None for one that is not, with a namespace:
    permissions for a namespace do not include definitions.
    """
    try:
        await has_object(client, kind, namespace)
    except NotFoundError:
        if namespace:
            return None
        name = f"metadata.name={kind.plural}.{kind.group}"
        return Source(DEFINITION.path(""), field_selector=name, is_metadata_only=True)
    except (ApiError, UnreachableError):
        # The watch tries again, and reports it.
        pass
    return _objects(kind, namespace)


def _objects(kind: Kind, namespace: str) -> Source:
    return Source(kind.path(namespace), is_metadata_only=True)


async def first_object(
    client: Client,
    kinds: Iterable[Kind],
    *,
    namespace: str = "",
    informers: Informers | None = None,
    if_served: Container[Kind] = (),
) -> str:
    """Waits for the first object and returns the path of its collection. The caller sets the timeout. `informers` are
    new ones; with them the caller sees whether the watches work.
    """
    informers, found = informers or Informers(client), asyncio.get_running_loop().create_future()

    def note(path: str, change: Change[_Seen]) -> None:
        if change.new is not None and not found.done():
            found.set_result(path)

    for kind in kinds:
        source = await _source(client, kind, namespace) if kind in if_served else _objects(kind, namespace)
        if source is None:
            continue
        informers.get(source, _Seen).add_handler(partial(note, source.path))
    async with asyncio.TaskGroup() as tasks:
        watching = tasks.create_task(informers.run())
        seen: str = await found
        watching.cancel()
    return seen
