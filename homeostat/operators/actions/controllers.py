"""Sets up the operator, and runs one controller for each kind of resource, as resource types are created, changed and
deleted.

A controller starts when the definition of its kind is established and stops when the last type of the kind is deleted.
When a type changes, all its resources are reconciled: their plugin, configuration or interval may have changed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import Any

from homeostat.objects.kind import Kind
from homeostat.operators.actions.api import (
    FINALIZER,
    RESOURCE_TYPE,
    Keep,
    Resource,
    ResourceType,
)
from homeostat.operators.actions.dependencies import Dependencies, open_in_setup
from homeostat.operators.actions.inputs.controller import InputControl
from homeostat.operators.actions.metrics import Series
from homeostat.operators.actions.runs.sweep import sweep_regularly
from homeostat.operators.actions.settings import ActionSettings, read_settings
from homeostat.operators.actions.types.effective import Versions, kept_by, newest, versions_in_force
from homeostat.operators.actions.types.guard import TypeGuard
from homeostat.operators.actions.types.naming import kind_name, kind_of_type, resource_kind
from homeostat.operators.actions.types.operator import TypeOperator
from homeostat.runtime.cache.cache import Cache, Change
from homeostat.runtime.cache.index import Name
from homeostat.runtime.control.controller import Controller
from homeostat.runtime.control.reconcile import Options
from homeostat.runtime.setup import Setup
from homeostat.runtime.watch.predicates import generation_changed
from homeostat.runtime.watch.routes import Route, to_mapped

log = logging.getLogger(__name__)

_TYPE_FINALIZER = "homeostat.dev/definition"
_TYPE_TIMEOUT_S = 3600.0
"""A reconciliation of a type may rewrite every resource of it."""
_RECONCILE_TIMEOUT_S = 2 * 3600.0
_SYNC_WITHIN_S = 10.0
_MOST_NAMED = 10
_AFTER_CHANGES_S = 0.001
"""A small delay: the queue serves resources that somebody has just changed first."""


class _ResourceControl:
    """`versions` are the types in force; resources are watched at the newest."""

    def __init__(
        self,
        setup: Setup,
        versions: Versions,
        dependencies: Dependencies,
        slots: asyncio.Semaphore,
        series: Series,
    ) -> None:
        from homeostat.operators.actions.operator import ResourceOperator

        self.versions = versions
        kind = resource_kind(newest(versions))
        operator = ResourceOperator(lambda each: kept_by(self.versions, each.metadata.labels), dependencies)
        options = Options(
            finalizer=FINALIZER,
            concurrency=dependencies.settings.concurrency,
            timeout_s=_RECONCILE_TIMEOUT_S,
            slots=slots,
        )
        self.controller: Controller[Resource, Any, Any] = setup.control(
            kind, Resource, operator, options, name=kind.plural
        )
        self._count: Callable[[Change[Resource]], None] = partial(series.changed, kind.plural)
        self._series = series
        self.controller.informer.add_handler(self._count)

    async def release(self, setup: Setup, *, grace_s: float = 20.0) -> None:
        # Another reader may share the informer.
        self.controller.informer.remove_handler(self._count)
        self._series.forget(self.controller.kind.plural)
        await setup.release(self.controller, grace_s=grace_s)

    def plugin_of(self, resource: Resource, dependencies: Dependencies) -> str:
        from homeostat.operators.actions.runs.jobs import effective_action

        spec = kept_by(self.versions, resource.metadata.labels)
        return effective_action(resource, spec.action, claimed=dependencies.claims.get(spec.name, "")).plugin

    def change(self, versions: Versions) -> None:
        if versions != self.versions:
            self.versions = versions
            for each in self.controller.informer.cache:
                self.controller.enqueue(each.metadata.namespace, each.metadata.name, after_s=_AFTER_CHANGES_S)


class ResourceControls:
    def __init__(self, setup: Setup, types: Cache[ResourceType], settings: ActionSettings) -> None:
        self._setup, self._types, self._settings = setup, types, settings
        self._controls: dict[str, _ResourceControl] = {}
        self._slots = asyncio.Semaphore(settings.concurrency)
        self._changed = asyncio.Event()
        self.series = Series()

    def note(self, _: Change[ResourceType]) -> None:
        self._changed.set()

    def keep_of(self, kind: str) -> Keep:
        """Returns the history settings of a type or kind, also of a type that is not in force."""
        named = (kind_of_type(each.spec) for each in self._types if kind in (each.spec.name, kind_of_type(each.spec)))
        wanted = next(named, kind_name(kind))
        control = self._controls.get(wanted)
        if control is not None:
            return newest(control.versions).history
        kept = (each.spec.history for each in self._types if kind_of_type(each.spec) == wanted)
        return max(kept, key=lambda each: (each.entries, each.max_age_days), default=Keep())

    async def run(self) -> None:
        """Runs while this process is the leader."""
        self._changed.set()
        async with AsyncExitStack() as stack:
            while not versions_in_force(self._types):
                await self._wait()
            dependencies = await stack.enter_async_context(open_in_setup(self._setup, self._settings))
            stack.push_async_callback(self._close)
            await self._arrange(versions_in_force(self._types), dependencies)
            await self._report_disabled(dependencies)
            self._changed.set()
            while True:
                await self._wait()
                await self._arrange(versions_in_force(self._types), dependencies)

    async def _report_disabled(self, dependencies: Dependencies) -> None:
        """Logs at the start which resources will fail because their plugin is disabled, and how to enable it."""
        if not dependencies.plugins.off:
            return
        failing: dict[str, list[str]] = {}
        for control in list(self._controls.values()):
            with suppress(TimeoutError):
                async with asyncio.timeout(_SYNC_WITHIN_S):
                    await control.controller.informer.synced()
            for each in control.controller.informer.cache:
                plugin = control.plugin_of(each, dependencies)
                if plugin in dependencies.plugins.off:
                    failing.setdefault(plugin, []).append(f"{each.metadata.namespace}/{each.metadata.name}")
        for plugin, names in sorted(failing.items()):
            shown = ", ".join(sorted(names)[:_MOST_NAMED])
            fields = {
                "plugin": plugin,
                "count": len(names),
                "resources": shown,
                "reason": dependencies.plugins.off[plugin],
            }
            log.warning("resources will fail: their plugin is disabled", extra=fields)

    async def _wait(self) -> None:
        await self._changed.wait()
        self._changed.clear()

    async def _close(self) -> None:
        """Stops all controllers when leadership ends; the next leadership starts new ones."""
        controls, self._controls = self._controls, {}
        for control in controls.values():
            await control.release(self._setup, grace_s=0.0)

    async def _arrange(self, wanted: dict[str, Versions], dependencies: Dependencies) -> None:
        for kind, control in list(self._controls.items()):
            versions = wanted.get(kind)
            if versions is None or not _is_served_alike(resource_kind(newest(versions)), control.controller.kind):
                del self._controls[kind]
                await control.release(self._setup)
                log.info("stopped controller for kind", extra={"kind": kind})
        for kind, versions in wanted.items():
            if kind in self._controls:
                self._controls[kind].change(versions)
            else:
                self._controls[kind] = _ResourceControl(self._setup, versions, dependencies, self._slots, self.series)
                log.info("started controller for kind", extra={"kind": kind})


def _is_served_alike(one: Kind, other: Kind) -> bool:
    """Returns whether both are served at the same path: a change of short names needs no new controller."""
    return (one.path(""), one.kind) == (other.path(""), other.kind)


def register(setup: Setup) -> None:
    settings = read_settings(setup.environment)
    types = setup.watch(RESOURCE_TYPE.kind, ResourceType)
    operator = TypeOperator(setup.client, lambda: types.cache)
    options = Options(finalizer=_TYPE_FINALIZER, timeout_s=_TYPE_TIMEOUT_S, decides_in_thread=True)
    controller = setup.control(RESOURCE_TYPE.kind, ResourceType, operator, options, name="types")
    # Another type of the same kind adds a version to the definition, or is a duplicate of an older one.
    siblings: Route[ResourceType] = to_mapped(RESOURCE_TYPE.kind, lambda each: _siblings(each, types.cache))
    controller.also(types, siblings, when=generation_changed)
    controls = ResourceControls(setup, types.cache, settings)
    setup.metrics.register(controls.series)
    types.add_handler(controls.note)
    setup.guard(RESOURCE_TYPE, TypeGuard(setup.client).check)
    setup.run(controls.run)
    setup.run(InputControl(setup, types).run)
    setup.run(lambda: sweep_regularly(setup.client, controls.keep_of, namespace=setup.namespace))


def _siblings(changed: ResourceType, types: Iterable[ResourceType]) -> list[Name]:
    kind = kind_of_type(changed.spec)
    return [("", each.metadata.name) for each in types if kind_of_type(each.spec) == kind]
