"""Removes old history entries of live and deleted resources."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

from homeostat.client.base import Client, UnreachableError
from homeostat.client.projection import Projection
from homeostat.client.requests import Selection
from homeostat.objects.errors import ApiError, NotFoundError
from homeostat.operators.actions.api import RECONCILIATION, Keep
from homeostat.operators.actions.runs.history import HistorySweep, Kept

log = logging.getLogger(__name__)

_FIRST_AFTER_S, _EVERY_S = 300.0, 3600.0
_AT_ONCE = 16
"""Concurrent deletions; they share commits."""


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
