"""When passes run: at an interval, when a Deployment's annotation asks for one, when one has to wait, and on request.

A trigger waits a moment for others, so that they share a pass and a commit. Passes run only while this process leads.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import random
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from homeostat.edge.turn import shared_turn
from homeostat.operators.images.api import REQUESTED
from homeostat.operators.images.batching.group import Group, group_of
from homeostat.operators.images.batching.lane import Lane
from homeostat.operators.images.batching.memory import Memory
from homeostat.operators.images.engine.annotations import Tracked
from homeostat.operators.images.engine.entry import Entry, failed, in_order, skipped
from homeostat.operators.images.passes import Outcomes, Passes
from homeostat.operators.images.tracking import TrackedWorkloads
from homeostat.runtime.control.writes import RefusedWriteError

log = logging.getLogger(__name__)
_JITTER: Final = 0.1
_AT_ONCE: Final = 8
"""Passes over different groups that run together."""


class NotLeadingError(Exception):
    """This process does not run the operator now."""


class Scheduler:
    def __init__(
        self,
        tracked: TrackedWorkloads,
        passes: Passes,
        *,
        interval_s: float,
        window_s: float,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._tracked, self._passes, self._chance = tracked, passes, chance
        self._interval_s, self._window_s = interval_s, window_s
        self._lanes: dict[Group, Lane] = {}
        self._due: dict[Group, float] = {}
        self._next_pass: float | None = None
        self._changed, self._places = asyncio.Event(), asyncio.Semaphore(_AT_ONCE)
        self._tasks: asyncio.TaskGroup | None = None
        self._context = contextvars.copy_context()

    @property
    def is_running(self) -> bool:
        """Whether this process leads, and its caches are filled."""
        return self._tasks is not None

    async def reconcile(self, keys: frozenset[str] | None = None) -> list[Entry]:
        """A pass over all Deployments, or over the groups of some; returns the entries of the requested ones."""
        # Before it runs, the caches may be empty: absence of data is not data.
        self._check_running()
        turn, memory, tracked = shared_turn(), Memory(), list[Tracked]()
        groups = self._tracked.groups() | self._passes.groups() if keys is None else set[Group]()
        for each in self._tracked.all():
            if keys is None:
                tracked.append(each)
            elif each.key in keys:
                tracked.append(each)
                groups |= {group_of(each.settings)} if each.settings.enabled else set()
            await turn.pause()
        asked, entries, found = list[asyncio.Future[Outcomes]](), dict[str, Entry](), list[Entry]()
        for group in groups:
            asked.append(self._ask(group, memory))
            await turn.pause()
        for outcomes in asked:
            entries |= (await asyncio.shield(outcomes)).entries
            await turn.pause()
        for each in tracked:
            found.append(_entry(each, entries))
            await turn.pause()
        return in_order(found)

    def trigger(self, tracked: Tracked) -> None:
        """Soon, together with others."""
        if tracked.settings.enabled:
            self._schedule(group_of(tracked.settings), self._window_s)

    def trigger_group(self, group: Group) -> None:
        """Soon, also if it has no workload any more."""
        self._schedule(group, self._window_s)

    async def trigger_matching(self, matches: Callable[[Tracked], bool]) -> int:
        """Triggers all that match, such as those of a repository that was pushed to; returns how many."""
        self._check_running()
        turn, count = shared_turn(), 0
        for each in self._tracked.all():
            if matches(each):
                self.trigger(each)
                count += 1
            await turn.pause()
        return count

    async def run(self) -> None:
        """The job: until it is cancelled."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.TaskGroup() as tasks:
                self._tasks, self._context = tasks, contextvars.copy_context()
                self._next_pass = self._after(loop.time())
                while True:
                    await self._start_due(loop.time())
                    await self._wait(loop.time())
        finally:
            self._tasks = None
            self._lanes.clear()

    def _after(self, now: float) -> float | None:
        return now + self._interval_s * (1 + _JITTER * self._chance()) if self._interval_s else None

    async def _start_due(self, now: float) -> None:
        due = {group for group, at in self._due.items() if at <= now}
        if self._next_pass is not None and self._next_pass <= now:
            self._next_pass = self._after(now)
            due |= self._tracked.groups() | self._passes.groups()
        turn, memory = shared_turn(), Memory()
        for group in due:
            self._due.pop(group, None)
            self._ask(group, memory)
            await turn.pause()

    async def _wait(self, now: float) -> None:
        times = [*self._due.values(), *([self._next_pass] if self._next_pass is not None else [])]
        with suppress(TimeoutError):
            async with asyncio.timeout(max(min(times) - now, 0.0) if times else None):
                await self._changed.wait()
        self._changed.clear()

    def _schedule(self, group: Group, after_s: float) -> None:
        at = asyncio.get_running_loop().time() + after_s
        if at < self._due.get(group, float("inf")):
            self._due[group] = at
            self._changed.set()

    def _ask(self, group: Group, memory: Memory) -> asyncio.Future[Outcomes]:
        self._check_running()
        lane = self._lanes.get(group)
        if lane is None:
            lane = self._lanes[group] = Lane(lambda memory: self._pass(group, memory))
        return lane.ask(memory, self._start)

    def _check_running(self) -> None:
        if self._tasks is None:
            raise NotLeadingError("this process does not run the operator images now; another replica may")

    def _start(self, lane: Lane) -> None:
        assert self._tasks is not None
        # In the context of the job, whose writes are refused once this process has lost the lead.
        self._tasks.create_task(lane.drain(), context=self._context)

    async def _pass(self, group: Group, memory: Memory) -> Outcomes:
        members = self._tracked.members(group)
        if not members and group not in self._passes.groups():
            self._lanes.pop(group, None)
            return Outcomes({}, {})
        async with self._places:
            try:
                found = await self._passes.run(group, members, memory)
            except RefusedWriteError:
                raise
            except Exception:
                log.exception("pass failed", extra={"repository": group.repository, "branch": group.branch})
                text = "internal error; see the log of this operator"
                found = Outcomes({each.key: failed(each, text) for each in members}, {})
        if found.retries_s:
            self._schedule(group, min(found.retries_s.values()))
        return found


def is_requested(tracked: Tracked, handled: str) -> bool:
    """Whether an annotation asks for a pass that did not happen yet."""
    asked = tracked.annotations.get(REQUESTED, "")
    return bool(asked) and asked != handled


def _entry(tracked: Tracked, entries: dict[str, Entry]) -> Entry:
    found = entries.get(tracked.key)
    if found is not None:
        return found
    if not tracked.settings.enabled:
        return skipped(tracked)
    return failed(tracked, "its annotations changed during the pass; ask again")
