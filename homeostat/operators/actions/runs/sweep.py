"""Removes old history entries of live and deleted resources.

A resource keeps its newest entries, up to a maximum age. The entries of a deleted resource stay until they reach that
age.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cache

import msgspec

from homeostat.client.base import Client, UnreachableError
from homeostat.client.projection import Projection
from homeostat.client.requests import Selection
from homeostat.objects.errors import ApiError, NotFoundError
from homeostat.objects.time.timestamp import format_micro_time
from homeostat.operators.actions.api import RECONCILIATION, Keep

log = logging.getLogger(__name__)

_FIRST_AFTER_S, _EVERY_S = 300.0, 3600.0
_AT_ONCE = 16
"""Concurrent deletions; they share commits."""


class KeptMetadata(msgspec.Struct, frozen=True, rename="camel", gc=False):
    name: str
    namespace: str = ""
    resource_version: str = ""


class KeptSpec(msgspec.Struct, frozen=True, rename="camel", gc=False):
    resource_kind: str
    resource_uid: str
    finished: str


class Kept(msgspec.Struct, frozen=True):
    """The fields of an existing entry that decide whether it is kept."""

    metadata: KeptMetadata
    spec: KeptSpec


class HistorySweep:
    """Finds entries that are too old or too many; `keep_of` returns the history settings of a kind.

    Entries come page by page in the order of their names, so those of one resource come together. In memory are only
    one page and the unfinished resource of the page before.
    """

    def __init__(self, keep_of: Callable[[str], Keep], *, now: datetime) -> None:
        # The settings of a kind are those of one of its types, which is searched among all.
        self._keep_of, self._now = cache(keep_of), now
        self._open: defaultdict[str, list[Kept]] = defaultdict(list)

    def take(self, page: Iterable[Kept]) -> list[Kept]:
        """Returns the surplus of resources whose entries are complete."""
        found = set()
        for each in page:
            self._open[each.spec.resource_uid].append(each)
            found.add(each.spec.resource_uid)
        complete = self._open.keys() - found
        return [each for uid in complete for each in self._surplus(self._open.pop(uid))]

    def end(self) -> list[Kept]:
        rest, self._open = self._open, defaultdict(list)
        return [each for entries in rest.values() for each in self._surplus(entries)]

    def _surplus(self, entries: list[Kept]) -> list[Kept]:
        keep = self._keep_of(entries[0].spec.resource_kind)
        oldest = format_micro_time(self._now - timedelta(days=keep.max_age_days))
        entries.sort(key=lambda each: each.spec.finished, reverse=True)
        return [each for at, each in enumerate(entries) if at >= keep.entries or each.spec.finished <= oldest]


async def sweep_history(client: Client, keep_of: Callable[[str], Keep], *, now: datetime, namespace: str = "") -> int:
    """Returns how many entries were removed. `keep_of` returns the history settings of a kind."""
    entries = Projection(client, RECONCILIATION.kind, Kept)
    sweep_of, surplus = HistorySweep(keep_of, now=now), []
    async for page in entries.pages(Selection(namespace)):
        surplus += sweep_of.take(page.items)
    surplus += sweep_of.end()
    for at in range(0, len(surplus), _AT_ONCE):
        async with asyncio.TaskGroup() as tasks:
            for each in surplus[at : at + _AT_ONCE]:
                tasks.create_task(_remove(entries, each))
    return len(surplus)


async def _remove(entries: Projection[Kept], each: Kept) -> None:
    with suppress(NotFoundError):
        await entries.delete(each.metadata.name, each.metadata.namespace)


async def sweep_regularly(
    client: Client,
    keep_of: Callable[[str], Keep],
    *,
    namespace: str = "",
    first_after_s: float = _FIRST_AFTER_S,
    every_s: float = _EVERY_S,
) -> None:
    """Runs until cancelled, for one namespace or for all. A failed removal is retried the next time."""
    wait_s = min(first_after_s, every_s)
    while True:
        await asyncio.sleep(wait_s)
        wait_s = every_s
        try:
            removed = await sweep_history(client, keep_of, now=datetime.now(UTC), namespace=namespace)
        except* (ApiError, UnreachableError) as errors:
            log.warning("failed to delete old history", extra={"error": str(errors.exceptions[0])})
        else:
            log.debug("deleted old history", extra={"removed": removed})
