"""One pass over everything, soon after any object of some kinds has changed: many changes at once share a pass.

A watch does not deliver deletions that happened while it was interrupted, but lists again: that counts as a change. A
pass that fails is repeated with backoff.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from homeostat.operators.housekeeping.metadata.events import Changed, FeedEvent, Gone, Listed
from homeostat.operators.housekeeping.metadata.feed import BACKOFF, Feed
from homeostat.runtime.control.queue import WorkQueue
from homeostat.runtime.control.workers import Workers

_EVERYTHING: Final = "everything"


class Sweep:
    def __init__(
        self, feed: Feed, *keys: str, work: Callable[[], Awaitable[None]], name: str, after_s: float = 0.0
    ) -> None:
        self._work, self._after_s = work, after_s
        self._queue: WorkQueue[str] = WorkQueue(backoff=BACKOFF)
        self._workers = Workers(self._queue, self._pass, name=name)
        feed.subscribe(self._observe, *keys)

    async def run(self) -> None:
        await self._workers.run()

    def _observe(self, event: FeedEvent) -> None:
        if isinstance(event, Changed | Gone | Listed):
            self._queue.add(_EVERYTHING, after_s=self._after_s)

    async def _pass(self, _: str) -> None:
        await self._work()
