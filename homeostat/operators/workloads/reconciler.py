"""A queue of names with workers, for controllers whose statuses are those of Kubernetes and not ours.

The next reconciliation of an object starts when the caches have seen every write of the last one, so a controller
never creates a Pod twice because it has not seen the first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from homeostat.objects.errors import ConflictError
from homeostat.objects.time.backoff import Backoff
from homeostat.runtime.control.queue import WorkQueue
from homeostat.runtime.control.workers import Workers
from homeostat.runtime.control.writes import writing_in
from homeostat.runtime.setup import Setup

Key = tuple[str, str]
"""Namespace and name."""
_SEEN_WITHIN_S: Final = 10.0
_BACKOFF: Final = Backoff(first_s=0.05, cap_s=30.0)
SOON_S: Final = 0.05
"""Changes of many Pods within this time are one reconciliation of their owner."""


class Reconciler:
    def __init__(
        self, setup: Setup, name: str, reconcile: Callable[[Key], Awaitable[None]], *, workers: int = 8
    ) -> None:
        self._setup, self._reconcile = setup, reconcile
        self._queue: WorkQueue[Key] = WorkQueue(backoff=_BACKOFF)
        self._name = setup.count_queue(name.replace(" ", "-"), self._queue)
        self._workers = Workers(self._queue, self._handle, name=name, count=workers)
        setup.run(self._workers.run)

    def add(self, key: Key, *, after_s: float = 0.0) -> None:
        self._queue.add(key, after_s=after_s)

    def soon(self, key: Key) -> None:
        self._queue.add(key, after_s=SOON_S)

    async def _handle(self, key: Key) -> None:
        scope, clock = self._setup.scope(), asyncio.get_running_loop().time
        started, outcome = clock(), "failed"
        with writing_in(scope):
            try:
                await self._reconcile(key)
                outcome = "acted" if scope.writes else "settled"
            except ConflictError:
                outcome = "conflict"
                raise
            finally:
                self._setup.metrics.reconciled(self._name, outcome, clock() - started)
                async with asyncio.timeout(_SEEN_WITHIN_S):
                    await scope.caught_up()
