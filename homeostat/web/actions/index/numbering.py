"""Assigns numbers to types and resources that were created without this API, or with the number of another object.

Several servers may do so at once: each write names the resource version, so only one succeeds. An object that loses its
number because somebody replaced its labels gets it back.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import defaultdict
from collections.abc import Callable
from typing import Final, Never

from homeostat.client.base import Client, UnreachableError
from homeostat.objects.errors import ApiError, ConflictError, NotFoundError
from homeostat.objects.time.backoff import Backoff
from homeostat.operators.actions.api import ID
from homeostat.web.actions.index.changes import Series, Unnumbered
from homeostat.web.actions.index.index import ResourceIndex
from homeostat.web.kit.records.ids import Ids

log = logging.getLogger(__name__)

_AT_ONCE: Final = 16
_BACKOFF: Final = Backoff(first_s=1.0, cap_s=60.0)


async def number_objects(
    client: Client, index: ResourceIndex, ids: Ids, *, chance: Callable[[], float] = random.random
) -> Never:
    """Until cancelled."""
    failures = 0
    while True:
        await index.wants_numbers.wait()
        index.wants_numbers.clear()
        try:
            await _number_all(client, index, ids)
        except* (ApiError, UnreachableError) as errors:
            log.warning("failed to number objects; retrying", extra={"reason": str(errors.exceptions[0])})
            failures += 1
        else:
            failures = 0
        if failures:
            index.wants_numbers.set()
            await asyncio.sleep(_BACKOFF.delay_s(failures, chance()))


async def _number_all(client: Client, index: ResourceIndex, ids: Ids) -> None:
    places = asyncio.Semaphore(_AT_ONCE)

    async def write(wanted: Unnumbered, number: int) -> None:
        async with places:
            await _write(client, wanted, number)

    new = defaultdict[Series, list[Unnumbered]](list)
    async with asyncio.TaskGroup() as tasks:
        for each in list(index.unnumbered.values()):
            if each.former and not index.is_taken(each.series, each.former):
                tasks.create_task(write(each, each.former))
            else:
                new[each.series].append(each)
        for series, wanting in new.items():
            first = await ids.take_block(series, len(wanting))
            for at, each in enumerate(wanting):
                tasks.create_task(write(each, first + at))


async def _write(client: Client, wanted: Unnumbered, number: int) -> None:
    """Retries after conflicts until the object has a number, this one or another."""
    version = wanted.version
    while version:
        try:
            await client.merge(wanted.path, {"metadata": {"resourceVersion": version, "labels": {ID: str(number)}}})
            return
        except ConflictError:
            await asyncio.sleep(0)
        except NotFoundError:
            return
        version = await _unchanged(client, wanted)


async def _unchanged(client: Client, wanted: Unnumbered) -> str:
    """Returns the current resource version; empty if the object is gone or has a number."""
    try:
        metadata = (await client.get(wanted.path))["metadata"]
    except NotFoundError:
        return ""
    is_same = metadata["uid"] == wanted.uid and (metadata.get("labels") or {}).get(ID, "") == wanted.label
    version: str = metadata["resourceVersion"]
    return version if is_same else ""
