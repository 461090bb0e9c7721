"""One operator in a manager: its terms, from the lead to the last look.

Promises, each tested:

- controllers begin when every cache of the operator has its first list: absence of data is not data
- a standby is warm: it stands when its caches are filled, so that a term begins with what is there
- a process that lost the lead stands again; while it does not lead, nothing is written
- closing takes up no new work, lets running work end within the grace, and only then gives the lease back
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from homeostat.runtime.control.controller import Controller
from homeostat.runtime.control.writes import RefusedWriteError, writing_in
from homeostat.runtime.leader import Election, LeadershipLostError
from homeostat.runtime.setup import Job, Setup
from homeostat.runtime.watch.phase import Waiting
from homeostat.runtime.watch.watcher import Watcher

log = logging.getLogger(__name__)

_REMIND_EVERY_S = 30.0
_RELEASE_WITHIN_S = 5.0
_STALE_AFTER_S = 60.0
_BEGIN_ANEW_AFTER_S = 1.0


class Host:
    """`election` is None where there is nobody to share with. `term` is the one that the operator was set up with."""

    def __init__(self, setup: Setup, election: Election | None, term: Term) -> None:
        self.setup, self.election, self._term = setup, election, term
        self._closing, self._grace_s = asyncio.Event(), 0.0
        self._task: asyncio.Task[None] | None = None

    @property
    def is_leading(self) -> bool:
        return self.election is None or self.election.is_leading

    def troubles(self) -> list[str]:
        """What keeps the operator from working, or from knowing what goes on. That another one leads is no trouble."""
        standing = [(each.source.path, _standing(each.watcher)) for each in self.setup.informers]
        troubles = [f"{path}: {told}" for path, told in standing if told]
        if self.election is not None and self.election.trouble and not self.is_leading:
            troubles.append(self.election.trouble)
        return troubles

    async def run(self) -> None:
        """Until `close`."""
        self._task = asyncio.current_task()
        while not self._closing.is_set():
            if self.election is None:
                await self._lead()
                continue
            # Who cannot see does not stand: it would keep the lead from those who can.
            await self._synced()
            try:
                await self.election.run(self._lead)
            except LeadershipLostError as error:
                log.warning("rejoining leader election", extra={"operator": self.setup.name, "reason": str(error)})

    async def close(self, grace_s: float) -> None:
        """After `run` has begun."""
        self._grace_s, is_at_work = grace_s, self._term.is_running
        self._closing.set()
        task = self._task
        if task is not None and is_at_work:
            await asyncio.wait([task], timeout=grace_s + _RELEASE_WITHIN_S)
        if task is not None and not task.done():
            task.cancel()

    async def _lead(self) -> None:
        await self._synced()
        log.info("started operator", extra={"operator": self.setup.name})
        async with asyncio.TaskGroup() as tasks:
            with self._term.running(tasks):
                for each in self.setup.controllers:
                    self._term.begin(each)
                jobs = [tasks.create_task(self._run(job)) for job in self.setup.jobs]
                await self._closing.wait()
            await self._term.close(self._grace_s)
            for job in jobs:
                job.cancel()

    async def _run(self, job: Job) -> None:
        """A job that wrote while the lead was lost, but nobody was told yet, has done nothing wrong."""
        while True:
            try:
                with writing_in(self.setup.scope()):
                    return await job()
            except (RefusedWriteError, ExceptionGroup) as error:
                if isinstance(error, ExceptionGroup) and error.split(RefusedWriteError)[1] is not None:
                    raise
                log.info("job failed; restarting", extra={"operator": self.setup.name, "reason": str(error)})
            await asyncio.sleep(_BEGIN_ANEW_AFTER_S)

    async def _synced(self) -> None:
        for informer in self.setup.informers:
            while not informer.watcher.synced.is_set():
                try:
                    async with asyncio.timeout(_REMIND_EVERY_S):
                        await informer.synced()
                except TimeoutError:
                    troubles = "; ".join(self.troubles())
                    log.warning("waiting for caches to sync", extra={"operator": self.setup.name, "reason": troubles})


class Term:
    """The controllers at work, while this process leads; those that come and go then are begun and ended here."""

    def __init__(self) -> None:
        self._tasks: asyncio.TaskGroup | None = None
        self._working: dict[Controller[Any, Any, Any], asyncio.Task[None]] = {}

    @property
    def is_running(self) -> bool:
        return self._tasks is not None

    @contextmanager
    def running(self, tasks: asyncio.TaskGroup) -> Iterator[None]:
        self._tasks, self._working = tasks, {}
        try:
            yield
        finally:
            self._tasks = None

    def begin(self, controller: Controller[Any, Any, Any]) -> None:
        if self._tasks is not None:
            self._working[controller] = self._tasks.create_task(_control(controller), name=controller.name)

    def end(self, controller: Controller[Any, Any, Any]) -> None:
        """It was closed; one whose cache never came has not even begun."""
        if self._tasks is not None and (task := self._working.pop(controller, None)) is not None:
            task.cancel()

    async def close(self, grace_s: float) -> None:
        await asyncio.gather(*(each.close(grace_s) for each in self._working))
        for task in self._working.values():
            task.cancel()


async def _control(controller: Controller[Any, Any, Any]) -> None:
    await controller.informer.synced()
    await controller.run()


def _standing(watcher: Watcher[Any]) -> str:
    """Empty where the watch works. One that is opened again now and then does."""
    state = watcher.state
    if not watcher.synced.is_set():
        return f"waits after {state.reason}" if isinstance(state, Waiting) else "its first list is on the way"
    if isinstance(state, Waiting) and watcher.last_event_age_s > _STALE_AFTER_S:
        return f"nothing was heard for {watcher.last_event_age_s:.0f} s: {state.reason}"
    return ""
