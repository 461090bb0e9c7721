"""One controller for each kind of resource, as resource types come, change and go.

An office opens when the definition of its kind is in force and closes when the last type of the kind goes. A type that
changes is looked at by all its resources: its plugin, its configuration or its pace may be another.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from typing import Any

from homeostat.objects.kind import Kind
from homeostat.operators.actions.api import (
    FINALIZER,
    Keep,
    Resource,
    ResourceType,
)
from homeostat.operators.actions.dependencies import Dependencies, open_in_setup
from homeostat.operators.actions.settings import ActionSettings
from homeostat.operators.actions.types.effective import Versions, kept_by, newest, versions_in_force
from homeostat.operators.actions.types.naming import kind_name, resource_kind
from homeostat.runtime.cache.cache import Cache, Change
from homeostat.runtime.control.controller import Controller
from homeostat.runtime.control.reconcile import Options
from homeostat.runtime.setup import Setup

log = logging.getLogger(__name__)

_LONGEST_LOOK_S = 2 * 3600.0
_NOT_BEFORE_CHANGES_S = 0.001
"""What is due later, however little, stands back behind what somebody has just declared."""


class _ResourceControl:
    """`versions` are the types in force; resources are looked for at the newest."""

    def __init__(self, setup: Setup, versions: Versions, dependencies: Dependencies, slots: asyncio.Semaphore) -> None:
        from homeostat.operators.actions.operator import ResourceOperator

        self.versions = versions
        kind = resource_kind(newest(versions))
        operator = ResourceOperator(lambda each: kept_by(self.versions, each.metadata.labels), dependencies)
        options = Options(
            finalizer=FINALIZER, concurrency=dependencies.settings.concurrency, timeout_s=_LONGEST_LOOK_S, slots=slots
        )
        self.controller: Controller[Resource, Any, Any] = setup.control(
            kind, Resource, operator, options, name=kind.plural
        )

    def change(self, versions: Versions) -> None:
        if versions != self.versions:
            self.versions = versions
            for each in self.controller.informer.cache:
                self.controller.enqueue(each.metadata.namespace, each.metadata.name, after_s=_NOT_BEFORE_CHANGES_S)


class ResourceControls:
    def __init__(self, setup: Setup, types: Cache[ResourceType], settings: ActionSettings) -> None:
        self._setup, self._types, self._settings = setup, types, settings
        self._controls: dict[str, _ResourceControl] = {}
        self._slots = asyncio.Semaphore(settings.concurrency)
        self._changed = asyncio.Event()

    def note(self, _: Change[ResourceType]) -> None:
        self._changed.set()

    def keep_of(self, kind: str) -> Keep:
        """What is kept of the history of resources, by the name of their type or kind; in force or not."""
        wanted = kind_name(kind)
        control = self._controls.get(wanted)
        if control is not None:
            return newest(control.versions).history
        kept = (each.spec.history for each in self._types if kind_name(each.spec.name) == wanted)
        return max(kept, key=lambda each: (each.entries, each.max_age_days), default=Keep())

    async def run(self) -> None:
        """While the process leads."""
        self._changed.set()
        async with AsyncExitStack() as stack:
            while not versions_in_force(self._types):
                await self._wait()
            dependencies = await stack.enter_async_context(open_in_setup(self._setup, self._settings))
            stack.push_async_callback(self._close)
            self._changed.set()
            while True:
                await self._wait()
                await self._arrange(versions_in_force(self._types), dependencies)

    async def _wait(self) -> None:
        await self._changed.wait()
        self._changed.clear()

    async def _close(self) -> None:
        """The controllers end with the term; the next one opens them anew."""
        controls, self._controls = self._controls, {}
        for control in controls.values():
            await self._setup.release(control.controller, grace_s=0.0)

    async def _arrange(self, wanted: dict[str, Versions], dependencies: Dependencies) -> None:
        for kind, control in list(self._controls.items()):
            versions = wanted.get(kind)
            if versions is None or not _is_served_alike(resource_kind(newest(versions)), control.controller.kind):
                del self._controls[kind]
                await self._setup.release(control.controller)
                log.info("stopped controller for kind", extra={"kind": kind})
        for kind, versions in wanted.items():
            if kind in self._controls:
                self._controls[kind].change(versions)
            else:
                self._controls[kind] = _ResourceControl(self._setup, versions, dependencies, self._slots)
                log.info("started controller for kind", extra={"kind": kind})


def _is_served_alike(one: Kind, other: Kind) -> bool:
    """Whether objects of the one are found where those of the other are: short names do not close an office."""
    return (one.path(""), one.kind) == (other.path(""), other.kind)
