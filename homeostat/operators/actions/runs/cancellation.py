"""Ends a call of a plugin when somebody cancels its run.

While a plugin works in the call, the resource is not reconciled, so its annotation is read every second. A call that
ends within the first second costs no request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

import msgspec

from homeostat.client.base import Client, UnreachableError
from homeostat.objects.decision import Wait
from homeostat.objects.errors import ApiError
from homeostat.objects.kind import Kind
from homeostat.operators.actions.api import CANCEL, Resource

T = TypeVar("T")
POLL_EVERY_S: Final = 1.0


class _Metadata(msgspec.Struct, frozen=True):
    annotations: dict[str, str] | None = None


class _Annotated(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()


_annotated = msgspec.json.Decoder(_Annotated)


async def unless_cancelled(
    client: Client, kind: Kind, obj: Resource, ticket: str, call: Coroutine[Any, Any, T]
) -> T | None:
    """What the call returns; None if somebody cancelled it, and then the call has ended, too."""
    async with asyncio.TaskGroup() as tasks:
        work, request = tasks.create_task(_settled(call)), tasks.create_task(_request(client, kind, obj, ticket))
        await asyncio.wait({work, request}, return_when=asyncio.FIRST_COMPLETED)
        is_cancelled = not work.done()
        (work if is_cancelled else request).cancel()
    if is_cancelled and work.cancelled():
        return None
    found = work.result()
    if isinstance(found, Wait):
        raise found
    return found


async def _settled(call: Coroutine[Any, Any, T]) -> T | Wait:
    """`Wait` as a value: a task group would wrap the exception."""
    try:
        return await call
    except Wait as wait:
        return wait


async def _request(client: Client, kind: Kind, obj: Resource, ticket: str) -> None:
    """Returns when the annotation names this run. A server that does not answer is asked again."""
    path = kind.path(obj.metadata.namespace, obj.metadata.name)
    while True:
        await asyncio.sleep(POLL_EVERY_S)
        try:
            found = _annotated.decode(await client.fetch("GET", path)).metadata.annotations or {}
        except (ApiError, UnreachableError, msgspec.DecodeError):
            continue
        if found.get(CANCEL) == ticket:
            return
