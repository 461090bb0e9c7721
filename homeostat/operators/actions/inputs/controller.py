"""Runs the controller of inputs while this process is the leader, from the first `ResourceInput` on."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from homeostat.objects.kind import Kind
from homeostat.operators.actions.api import ResourceType
from homeostat.operators.actions.inputs.api import FINALIZER, RESOURCE_INPUT, ResourceInput
from homeostat.operators.actions.types.effective import types_in_force
from homeostat.operators.actions.types.naming import kind_of_type, resource_kind
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.cache.informer import Informer
from homeostat.runtime.control.operator import Request
from homeostat.runtime.control.reconcile import Options, lifecycle_changed
from homeostat.runtime.control.writes import writing_in
from homeostat.runtime.setup import Setup
from homeostat.runtime.watch.predicates import Predicate, annotations_changed, any_of, generation_changed

if TYPE_CHECKING:
    from homeostat.operators.actions.inputs.feeds import Feeds
    from homeostat.operators.actions.inputs.jobs import InputDependencies

_KIND = RESOURCE_INPUT.kind
_COUNTS: Predicate[ResourceInput] = any_of(generation_changed, annotations_changed(), lifecycle_changed)
_RECONCILE_TIMEOUT_S = 3600.0
_CONCURRENCY = 8
_GATHER_S = 0.5


class InputControl:
    def __init__(self, setup: Setup, types: Informer[ResourceType]) -> None:
        self._setup, self._types = setup, types
        self._inputs = setup.watch(_KIND, ResourceInput)
        self._changed = asyncio.Event()
        self._kinds: dict[str, Kind] = {}
        self._inputs.add_handler(self._note)

    async def run(self) -> None:
        """Runs while this process is the leader."""
        self._changed.set()
        while not any(True for _ in self._inputs.cache):
            await self._wait()
        async with self._dependencies() as dependencies:
            await self._keep(dependencies)

    async def _keep(self, dependencies: InputDependencies) -> None:
        from homeostat.operators.actions.inputs.feeds import Feeds
        from homeostat.operators.actions.inputs.operator import InputOperator

        feeds: Feeds = Feeds(
            dependencies,
            lambda: self._inputs.cache,
            enqueue=lambda obj: controller.enqueue(obj.metadata.namespace, obj.metadata.name, after_s=_GATHER_S),
            scope=lambda: writing_in(self._setup.scope()),
        )
        operator = InputOperator(dependencies, feeds.world_of)
        options = Options(finalizer=FINALIZER, concurrency=_CONCURRENCY, timeout_s=_RECONCILE_TIMEOUT_S)
        controller = self._setup.control(_KIND, ResourceInput, operator, options, name="inputs")
        controller.also(self._types, self._all_inputs)
        try:
            async with asyncio.TaskGroup() as tasks:
                self._changed.set()
                while True:
                    await self._wait()
                    await feeds.arrange(tasks)
                    uids = {each.metadata.uid for each in self._inputs.cache}
                    operator.forget_others(uids)
                    await asyncio.to_thread(_sweep, dependencies.directory, uids)
        finally:
            await self._setup.release(controller, grace_s=0.0)

    @asynccontextmanager
    async def _dependencies(self) -> AsyncIterator[InputDependencies]:
        from homeostat.edge.proxies import read_proxies
        from homeostat.external.rest.client import RestClient
        from homeostat.external.rest.settings import RestSettings
        from homeostat.operators.actions.inputs.jobs import InputDependencies
        from homeostat.operators.actions.inputs.plugins.plugin import Tools
        from homeostat.operators.actions.plugins.catalog import INPUTS, discover

        # The imports take some tens of milliseconds and would block the event loop.
        for each in INPUTS.values():
            await asyncio.to_thread(import_module, each.partition(":")[0])
        async with RestClient(RestSettings(proxies=read_proxies(self._setup.environment))) as http:
            tools = Tools(http, self._setup.environment)
            enabled = [each.strip() for each in self._setup.environment.get("ENABLED_INPUT_PLUGINS", "").split(",")]
            plugins = discover("homeostat.inputs", tools, ours=INPUTS, enabled=filter(None, enabled))
            yield InputDependencies(
                client=self._setup.client,
                plugins=plugins,
                directory=self._setup.directory / "inputs",
                kinds=lambda: _kinds(self._types.cache),
                announced=lambda: {kind_of_type(each.spec) for each in self._types.cache if not each.is_terminating},
            )

    def _note(self, change: Change[ResourceInput]) -> None:
        if _COUNTS(change):
            self._changed.set()

    async def _wait(self) -> None:
        await self._changed.wait()
        self._changed.clear()

    def _all_inputs(self, _: Change[Any]) -> list[Request]:
        """Reconciles all inputs when the set of kinds changes: a declaration may have waited for a new type."""
        kinds = _kinds(self._types.cache)
        if kinds == self._kinds:
            return []
        self._kinds = kinds
        return [Request(_KIND.full_name, each.metadata.namespace, each.metadata.name) for each in self._inputs.cache]


def _kinds(types: Iterable[ResourceType]) -> dict[str, Kind]:
    return {name: resource_kind(spec) for name, spec in types_in_force(types).items()}


def _sweep(directory: Path, uids: set[str]) -> None:
    """Removes the directories of deleted inputs."""
    for each in directory.iterdir() if directory.is_dir() else ():
        if each.name not in uids:
            shutil.rmtree(each, ignore_errors=True)
