"""Statuses of commits at forges, where an annotation asks for them.

They are set beside the passes, which never wait for them. A forge that fails is asked again with backoff; a status that
cannot be set in the end is logged and dropped.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import Final

from homeostat.external.forges.forge import ForgeError, RateLimitedError, RefusedError
from homeostat.external.rest.errors import ResponseLostError, RestError
from homeostat.objects.time.backoff import Backoff
from homeostat.operators.images.engine.annotations import Tracked
from homeostat.operators.images.sources.forges import UnknownForgeError
from homeostat.operators.images.sources.guard import Guard
from homeostat.operators.images.sources.secrets import MissingSecretError, Secrets
from homeostat.operators.images.sources.statuses import CommitState, CommitStatuses

log = logging.getLogger(__name__)
_BACKOFF: Final = Backoff(first_s=1.0, cap_s=60.0)
_ATTEMPTS: Final = 5
_MOST_WAITING: Final = 1000
Send = Callable[[], Awaitable[bool]]
"""Returns whether to try again."""


class Notifier:
    def __init__(self, secrets: Callable[[], Secrets], statuses: CommitStatuses, guard: Guard) -> None:
        self._secrets, self._statuses, self._guard = secrets, statuses, guard
        self._waiting: asyncio.Queue[tuple[str, Send]] = asyncio.Queue(_MOST_WAITING)

    def set_commit_status(self, tracked: Tracked, status: CommitState) -> None:
        """Where the annotation `commit_status` asks for it."""
        self._put(tracked, lambda: self._status(tracked, status))

    async def run(self) -> None:
        """Sends what waits, several at a time, until it is cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(4):
                tasks.create_task(self._work())

    async def _work(self) -> None:
        while True:
            key, send = await self._waiting.get()
            await self._deliver(key, send)
            self._waiting.task_done()

    async def settled(self) -> None:
        """Returns when nothing waits."""
        await self._waiting.join()

    def _put(self, tracked: Tracked, send: Send) -> None:
        try:
            self._waiting.put_nowait((tracked.key, send))
        except asyncio.QueueFull:
            log.warning("notification dropped: too many wait", extra={"deployment": tracked.key})

    async def _deliver(self, key: str, send: Send) -> None:
        for attempt in range(1, _ATTEMPTS + 1):
            asked_s = 0.0
            try:
                if not await send():
                    return
                reason = "the webhook refused it for now"
            except ResponseLostError as error:
                # It may have arrived: once too few is better than twice.
                log.warning("notification may be lost", extra={"deployment": key, "reason": str(error)})
                return
            except (MissingSecretError, UnknownForgeError, RefusedError) as error:
                # Another attempt would get the same answer.
                log.warning("notification not sent", extra={"deployment": key, "reason": str(error)})
                return
            except (RestError, ForgeError) as error:
                reason = str(error)
                asked_s = error.after_s if isinstance(error, RateLimitedError) else 0.0
            if attempt < _ATTEMPTS:
                delay_s = _BACKOFF.delay_s(attempt, random.random())  # noqa: S311
                await asyncio.sleep(max(delay_s, min(asked_s, _BACKOFF.cap_s)))
        log.warning("notification not sent", extra={"deployment": key, "reason": reason})

    async def _status(self, tracked: Tracked, status: CommitState) -> bool:
        secrets = self._secrets()
        await self._guard.check(tracked, secrets)
        await self._statuses.set(tracked, status, secrets)
        return False
