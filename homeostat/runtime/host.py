"""One operator in a manager: leader election, and the controllers while this process is the leader.

Promises, each tested:

- controllers start when every cache of the operator has its first list: absence of data is not data
- a standby is warm: it joins the election when its caches are filled, so that it can start at once as the leader
- a process that lost leadership rejoins the election; while it is not the leader, nothing is written
- closing starts no new work, lets running work end within the grace period, and only then releases the lease
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from homeostat.runtime.cache.informer import Informer
from homeostat.runtime.control.controller import Controller
from homeostat.runtime.control.writes import RefusedWriteError, writing_in
from homeostat.runtime.leader import Election, LeadershipLostError
from homeostat.runtime.setup import Job, Setup
from homeostat.runtime.telemetry.state import OperatorState, WatchState
from homeostat.runtime.watch.phase import Waiting
from homeostat.runtime.watch.watcher import Watcher

log = logging.getLogger(__name__)

_REMIND_EVERY_S = 30.0
_RELEASE_WITHIN_S = 5.0
_STALE_AFTER_S = 60.0
_BEGIN_ANEW_AFTER_S = 1.0


class Host:
    """`election` is None if there is only one process. `term` is the one that the operator was set up with. While it
    `is_paused`, neither controllers nor jobs run, and this process does not join the election.
    """

    def __init__(self, setup: Setup, election: Election | None, term: Term, *, is_paused: bool = False) -> None:
        self.setup, self.election, self._term, self._is_paused = setup, election, term, is_paused
        self._closing, self._grace_s = asyncio.Event(), 0.0
        self._task: asyncio.Task[None] | None = None

    @property
    def is_leading(self) -> bool:
        return self.election is None or self.election.is_leading

    def troubles(self) -> list[str]:
        """Reasons why the operator does not work or its caches are stale. Another leader is no such reason."""
        reasons = [(each.source.path, watch_trouble(each.watcher)) for each in self.setup.informers]
        troubles = [f"{path}: {reason}" for path, reason in reasons if reason]
        if self.election is not None and self.election.trouble and not self.is_leading:
            troubles.append(self.election.trouble)
        return troubles

    def state(self, identity: str) -> OperatorState:
        setup, election = self.setup, self.election
        return OperatorState(
            name=setup.name,
            is_paused=self._is_paused,
            is_leading=self.is_leading,
            identity=identity,
            leader=election.leader if election is not None else "",
            troubles=tuple(self.troubles()),
            controllers=(
                *(each.state() for each in setup.controllers),
                *(setup.metrics.state(each) for each in setup.queues),
            ),
            watches=tuple(_watch_state(each) for each in setup.informers),
        )

    async def run(self) -> None:
        """Until `close`."""
        self._task = asyncio.current_task()
        if self._is_paused:
            log.warning("operator is paused", extra={"operator": self.setup.name})
            await self._closing.wait()
        while not self._closing.is_set():
            if self.election is None:
                await self._lead()
                continue
            # A process without caches must not become the leader in place of one that has them.
            await self._synced()
            try:
                await self.election.run(self._lead)
            except LeadershipLostError as error:
                log.warning("rejoining leader election", extra={"operator": self.setup.name, "reason": str(error)})

    async def close(self, grace_s: float) -> None:
        """Call it after `run` has started."""
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
        """Restarts a job whose write was refused because leadership had just been lost."""
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
    """The running controllers while this process is the leader. Controllers may be added and removed meanwhile."""

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
        """The controller was closed. If its cache was never filled, it has not started."""
        if self._tasks is not None and (task := self._working.pop(controller, None)) is not None:
            task.cancel()

    async def close(self, grace_s: float) -> None:
        await asyncio.gather(*(each.close(grace_s) for each in self._working))
        for task in self._working.values():
            task.cancel()


async def _control(controller: Controller[Any, Any, Any]) -> None:
    await controller.informer.synced()
    await controller.run()


def _watch_state(informer: Informer[Any]) -> WatchState:
    watcher = informer.watcher
    return WatchState(
        path=informer.source.path,
        state=type(watcher.state).__name__.lower(),
        age_s=watcher.last_event_age_s,
        objects=len(informer.cache),
        restarts=watcher.restarts,
        relists=informer.relists,
        unreadable=watcher.unreadable,
        trouble=watch_trouble(watcher),
    )


def watch_trouble(watcher: Watcher[Any]) -> str:
    """Why the watch does not work; empty if it does. A watch that is reopened now and then works."""
    state = watcher.state
    if not watcher.synced.is_set():
        return f"retrying after {state.reason}" if isinstance(state, Waiting) else "waiting for the first list"
    if isinstance(state, Waiting) and watcher.last_event_age_s > _STALE_AFTER_S:
        return f"no event for {watcher.last_event_age_s:.0f} s: {state.reason}"
    return ""
