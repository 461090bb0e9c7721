"""One operator in a manager: its terms, from the lead to the last look.

Promises, each tested:

- controllers begin when every cache of the operator has its first list: absence of data is not data
- a standby is warm: its caches are filled, so that a term begins with what is there
- a process that lost the lead stands again; while it does not lead, nothing is written
- closing takes up no new work, lets running work end within the grace, and only then gives the lease back
"""

from __future__ import annotations

import asyncio
import logging

from homeostat.runtime.leader import Election, LeadershipLostError
from homeostat.runtime.phase import Waiting
from homeostat.runtime.setup import Job, Setup

log = logging.getLogger(__name__)

_REMIND_EVERY_S = 30.0
_RELEASE_WITHIN_S = 5.0


class Host:
    """`election` is None where there is nobody to share with."""

    def __init__(self, setup: Setup, election: Election | None) -> None:
        self.setup, self.election = setup, election
        self._closing = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def is_leading(self) -> bool:
        return self.election is None or self.election.is_leading

    def troubles(self) -> list[str]:
        """What keeps the operator from working; nothing of it is for a standby to mend."""
        return [
            f"{each.source.path}: {_standing(each.watcher.state)}"
            for each in self.setup.informers
            if not each.watcher.synced.is_set()
        ]

    async def run(self) -> None:
        """Until `close`."""
        self._task = asyncio.current_task()
        while not self._closing.is_set():
            if self.election is None:
                await self._lead()
                continue
            try:
                await self.election.run(self._lead)
            except LeadershipLostError as error:
                log.warning("stands for the lead again", extra={"operator": self.setup.name, "reason": str(error)})

    async def close(self, grace_s: float) -> None:
        await asyncio.gather(*(each.close(grace_s) for each in self.setup.controllers))
        self._closing.set()
        task = self._task
        if task is not None and self.is_leading and not self.troubles():
            await asyncio.wait([task], timeout=_RELEASE_WITHIN_S)
        if task is not None and not task.done():
            task.cancel()

    async def _lead(self) -> None:
        await self._synced()
        log.info("operator runs", extra={"operator": self.setup.name})
        async with asyncio.TaskGroup() as tasks:
            working = [tasks.create_task(each.run(), name=each.name) for each in self.setup.controllers]
            jobs = [tasks.create_task(_run(job)) for job in self.setup.jobs]
            await self._closing.wait()
            if working:
                await asyncio.wait(working)
            for job in jobs:
                job.cancel()

    async def _synced(self) -> None:
        for informer in self.setup.informers:
            while not informer.watcher.synced.is_set():
                try:
                    async with asyncio.timeout(_REMIND_EVERY_S):
                        await informer.synced()
                except TimeoutError:
                    troubles = "; ".join(self.troubles())
                    log.warning("waits for its caches", extra={"operator": self.setup.name, "reason": troubles})


async def _run(job: Job) -> None:
    await job()


def _standing(state: object) -> str:
    return f"waits after {state.reason}" if isinstance(state, Waiting) else "its first list is on the way"
