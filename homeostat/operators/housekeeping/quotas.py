"""The status of ResourceQuotas: its limits are restored some time after somebody else has written others. The server
counts what is used itself.
"""

from __future__ import annotations

from typing import Final

from homeostat.client.base import Client
from homeostat.objects.errors import ConflictError, NotFoundError
from homeostat.operators.housekeeping.metadata.events import Changed, FeedEvent
from homeostat.operators.housekeeping.metadata.feed import BACKOFF, Feed
from homeostat.operators.housekeeping.metadata.kinds import kind_key
from homeostat.runtime.control.queue import WorkQueue
from homeostat.runtime.control.workers import Workers

_AFTER_S: Final = 10.0
"""Kubernetes does it within 5 minutes: whoever writes a status may read it back."""


class Quotas:
    def __init__(self, client: Client, feed: Feed, *, after_s: float = _AFTER_S) -> None:
        self._client, self._after_s = client, after_s
        self._queue: WorkQueue[tuple[str, str]] = WorkQueue(backoff=BACKOFF)
        self._workers = Workers(self._queue, self._restore, name="quotas")
        feed.subscribe(self._observe, kind_key("v1", "ResourceQuota"))

    async def run(self) -> None:
        await self._workers.run()

    def _observe(self, event: FeedEvent) -> None:
        if isinstance(event, Changed) and event.metadata.deletion_timestamp is None:
            self._queue.add((event.metadata.namespace, event.metadata.name), after_s=self._after_s)

    async def _restore(self, key: tuple[str, str]) -> None:
        path = "/api/v1/namespaces/{}/resourcequotas/{}".format(*key)
        try:
            quota = await self._client.get(path)
            hard, status = (quota.get("spec") or {}).get("hard") or {}, quota.get("status") or {}
            if (status.get("hard") or {}) != hard:
                await self._client.update(f"{path}/status", {**quota, "status": {**status, "hard": hard}})
        except (NotFoundError, ConflictError):
            return  # It was deleted or changed; the watch will say so.
