"""Statuses of commits at forges, where an annotation asks for them.

They are set beside the passes, which never wait for them. A forge that fails is asked again with backoff. That a
status was set is part of the ImageUpdate. Until then each pass sets it, so that neither a crash nor a long failure of
the forge loses it.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from typing import Final

from homeostat.external.forges.forge import ForgeError, RateLimitedError, RefusedError
from homeostat.external.rest.errors import RestError
from homeostat.objects.time.backoff import Backoff
from homeostat.operators.images.engine.annotations import Tracked
from homeostat.operators.images.records import Records
from homeostat.operators.images.sources.forges import UnknownForgeError
from homeostat.operators.images.sources.guard import Guard
from homeostat.operators.images.sources.secrets import MissingSecretError, Secrets
from homeostat.operators.images.sources.statuses import CommitState, CommitStatuses

log = logging.getLogger(__name__)
_BACKOFF: Final = Backoff(first_s=1.0, cap_s=60.0)
_ATTEMPTS: Final = 5
_AT_ONCE: Final = 4
_MOST_WAITING: Final = 1000


class CommitStatusReporter:
    def __init__(
        self, secrets: Callable[[], Secrets], statuses: CommitStatuses, guard: Guard, records: Records
    ) -> None:
        self._secrets, self._statuses, self._guard, self._records = secrets, statuses, guard, records
        self._waiting: asyncio.Queue[Tracked] = asyncio.Queue(_MOST_WAITING)
        self._newest: dict[str, CommitState] = {}
        """By workload: what to set, or what is being set."""

    def set_commit_status(self, tracked: Tracked, status: CommitState) -> None:
        """Where the annotation `commit_status` asks for it."""
        is_waiting = tracked.key in self._newest
        if not is_waiting and self._waiting.full():
            log.warning("deferred commit status: too many are waiting", extra={"deployment": tracked.key})
            return
        self._newest[tracked.key] = status
        if not is_waiting:
            self._waiting.put_nowait(tracked)

    async def run(self) -> None:
        """Sends what waits, several at a time, until it is cancelled."""
        # What was cancelled midway is set again by a pass.
        self._newest.clear()
        while not self._waiting.empty():
            self._waiting.get_nowait()
        async with asyncio.TaskGroup() as tasks:
            for _ in range(_AT_ONCE):
                tasks.create_task(self._work())

    async def _work(self) -> None:
        while True:
            tracked = await self._waiting.get()
            done: CommitState | None = None
            try:
                # A pass may have found a newer state meanwhile.
                while (status := self._newest[tracked.key]) != done:
                    if await self._deliver(tracked, status):
                        await self._records.reported(tracked, status.identity)
                    done = status
            finally:
                self._newest.pop(tracked.key, None)

    async def _deliver(self, tracked: Tracked, status: CommitState) -> bool:
        """Whether it was set."""
        reason = ""
        for attempt in range(1, _ATTEMPTS + 1):
            asked_s = 0.0
            try:
                secrets = self._secrets()
                # The annotations may be others than those of the pass.
                await self._guard.check(tracked, secrets)
                await self._statuses.set(tracked, status, secrets)
                return True
            except (MissingSecretError, UnknownForgeError, RefusedError) as error:
                # Another attempt would get the same answer.
                reason = str(error)
                break
            except (RestError, ForgeError) as error:
                reason = str(error)
                asked_s = error.after_s if isinstance(error, RateLimitedError) else 0.0
            if attempt < _ATTEMPTS:
                delay_s = _BACKOFF.delay_s(attempt, random.random())  # noqa: S311
                await asyncio.sleep(max(delay_s, min(asked_s, _BACKOFF.cap_s)))
        log.warning(
            "failed to set commit status; retrying in next pass", extra={"deployment": tracked.key, "reason": reason}
        )
        return False
