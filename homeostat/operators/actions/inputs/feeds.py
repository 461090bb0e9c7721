"""Runs the feeds of inputs, one task for each, and applies what they deliver.

A feed that ends is restarted with backoff. When an input changes, its old feed stops before the new one starts. A call
of the desk returns after the declaration is on disk; only then does a feed acknowledge the message to its queue.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Final

from homeostat.objects.decision import Stalled
from homeostat.objects.time.backoff import Backoff
from homeostat.operators.actions.inputs.api import MOST_ERRORS, ResourceInput, ResourceInputStatus, SourceError
from homeostat.operators.actions.inputs.decide import FeedWorld, ReadFailure
from homeostat.operators.actions.inputs.jobs import InputDependencies, failure_of, prepare
from homeostat.operators.actions.inputs.plugins.plugin import Feed, InputError
from homeostat.operators.actions.inputs.plugins.reading import Declaration, RefusedError
from homeostat.operators.actions.inputs.wanted import declared_digest, live_of
from homeostat.runtime.control.reconcile import is_paused

_BACKOFF: Final = Backoff(first_s=1.0, cap_s=60.0)
_LONGEST_TOLD: Final = 500


@dataclass(slots=True)
class _State:
    taken: int = 0
    rejected: int = 0
    is_connected: bool = False
    trouble: ReadFailure | None = None
    errors: deque[SourceError] = field(default_factory=lambda: deque(maxlen=MOST_ERRORS))


class FeedDesk:
    """The desk of one input. `changed` is called when its state has changed."""

    def __init__(
        self, dependencies: InputDependencies, obj: ResourceInput, state: _State, changed: Callable[[], None]
    ) -> None:
        self._dependencies, self._obj, self._state, self._changed = dependencies, obj, state, changed

    def connected(self) -> None:
        self._state.is_connected, self._state.trouble = True, None
        self._changed()

    def took(self) -> None:
        self._state.taken += 1
        self._changed()

    def rejected(self, source: str, message: str) -> None:
        self._state.rejected += 1
        self._state.errors.append(SourceError(source=source, message=message[:_LONGEST_TOLD]))
        self._changed()

    async def declare(self, declaration: Declaration) -> None:
        writer, owner = self._dependencies.writer(self._obj), self._obj.metadata.name
        if declaration.kind not in writer.kinds and declaration.kind in self._dependencies.announced():
            raise InputError("TypeNotReady", f"the resource type of {declaration.title} is not ready yet")
        found = await writer.find(*declaration.key)
        if found is None:
            await writer.put(declaration, is_owned=False)
            return
        live = live_of(found, declaration, digest=declared_digest(declaration))
        if live.owner != owner:
            whose = f'belongs to the input "{live.owner}"' if live.owner else "was not created by an input"
            raise RefusedError(f"{declaration.title}: a resource of this name already exists and {whose}")
        if not live.is_same:
            await writer.put(declaration, is_owned=True)

    async def withdraw(self, kind: str, name: str) -> None:
        writer, owner = self._dependencies.writer(self._obj), self._obj.metadata.name
        found = await writer.find(kind, name)
        if found is None:
            return
        live = live_of(found)
        if live.owner != owner:
            raise RefusedError(f"{kind} {name} was not created by this input; not deleted")
        if not live.is_terminating:
            await writer.remove(kind, name, live.uid)


@dataclass(slots=True)
class _Running:
    wanted: object
    task: asyncio.Task[None]


class Feeds:
    """`inputs` returns all inputs, `enqueue` triggers a reconciliation of one, and writes are made in `scope`."""

    def __init__(
        self,
        dependencies: InputDependencies,
        inputs: Callable[[], Iterable[ResourceInput]],
        *,
        enqueue: Callable[[ResourceInput], None],
        scope: Callable[[], AbstractContextManager[Any]],
    ) -> None:
        self._dependencies, self._inputs, self._enqueue, self._scope = dependencies, inputs, enqueue, scope
        self._states: dict[str, _State] = {}
        self._running: dict[str, _Running] = {}

    def world_of(self, obj: ResourceInput) -> FeedWorld:
        state = self._states.get(obj.metadata.uid, _State())
        status = obj.read_status(ResourceInputStatus)
        return FeedWorld(
            is_connected=state.is_connected,
            trouble=state.trouble,
            taken=max(state.taken, status.taken),
            rejected=max(state.rejected, status.rejected),
            errors=tuple(state.errors) or status.errors,
        )

    async def arrange(self, tasks: asyncio.TaskGroup) -> None:
        """Starts and stops feeds according to the current inputs."""
        wanted = {each.metadata.uid: each for each in self._inputs() if self._is_wanted(each)}
        for uid, running in list(self._running.items()):
            if uid not in wanted or running.wanted != wanted[uid].spec or running.task.done():
                running.task.cancel()
                await asyncio.wait([running.task])
                del self._running[uid]
        for uid, obj in wanted.items():
            if uid not in self._running:
                status = obj.read_status(ResourceInputStatus)
                self._states.setdefault(uid, _State(status.taken, status.rejected))
                self._running[uid] = _Running(obj.spec, tasks.create_task(self._run(obj)))
        self._states = {uid: state for uid, state in self._states.items() if uid in wanted}

    def _is_wanted(self, obj: ResourceInput) -> bool:
        if obj.is_terminating or is_paused(obj):
            return False
        try:
            return isinstance(prepare(self._dependencies, obj)[0], Feed)
        except Stalled:
            return False

    async def _run(self, obj: ResourceInput) -> None:
        state, failures = self._states[obj.metadata.uid], 0
        while True:
            taken = state.taken
            with self._scope():
                state.trouble = await self._feed(obj, state)
            state.is_connected = False
            failures = 1 if state.taken > taken else failures + 1
            self._enqueue(obj)
            await asyncio.sleep(_BACKOFF.delay_s(failures, random.random()))  # noqa: S311

    async def _feed(self, obj: ResourceInput, state: _State) -> ReadFailure:
        plugin, job = prepare(self._dependencies, obj)
        assert isinstance(plugin, Feed)
        try:
            await plugin.feed(job, FeedDesk(self._dependencies, obj, state, lambda: self._enqueue(obj)))
        except Exception as error:  # A plugin of a package may raise anything.
            return failure_of(error, plugin.name, job.secrets)
        return ReadFailure("Ended", "the feed ended unexpectedly")
