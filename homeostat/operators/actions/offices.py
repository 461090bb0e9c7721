"""One controller for each kind of resource, as resource types come, change and go.

An office opens when the definition of its kind is in force and closes when the last type of the kind goes. A type that
changes is looked at by all its resources: its plugin, its configuration or its pace may be another.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from homeostat.objects.conditions import READY, find
from homeostat.objects.kind import Kind
from homeostat.operators.actions.api import (
    FINALIZER,
    Keep,
    Resource,
    ResourceType,
    ResourceTypeSpec,
    ResourceTypeStatus,
)
from homeostat.operators.actions.equipment import equipped
from homeostat.operators.actions.naming import kind_name, resource_kind
from homeostat.operators.actions.settings import ActionSettings
from homeostat.operators.actions.typedecide import DEFINING
from homeostat.runtime.cache import Cache, Change
from homeostat.runtime.controller import Controller
from homeostat.runtime.look import Options
from homeostat.runtime.setup import Setup

if TYPE_CHECKING:
    from homeostat.operators.actions.operator import Means

log = logging.getLogger(__name__)

_LONGEST_LOOK_S = 2 * 3600.0
_NOT_BEFORE_CHANGES_S = 0.001
"""What is due later, however little, stands back behind what somebody has just declared."""


class _Office:
    """`spec` is the type in force: of several versions of a kind the newest."""

    def __init__(self, setup: Setup, spec: ResourceTypeSpec, means: Means, slots: asyncio.Semaphore) -> None:
        from homeostat.operators.actions.operator import ResourceOperator

        self.spec = spec
        kind = resource_kind(spec)
        operator = ResourceOperator(lambda: self.spec, means)
        options = Options(
            finalizer=FINALIZER, concurrency=means.settings.concurrency, timeout_s=_LONGEST_LOOK_S, slots=slots
        )
        self.controller: Controller[Resource, Any, Any] = setup.control(
            kind, Resource, operator, options, name=kind.plural
        )

    def change(self, spec: ResourceTypeSpec) -> None:
        if spec != self.spec:
            self.spec = spec
            for each in self.controller.informer.cache:
                self.controller.look(each.metadata.namespace, each.metadata.name, after_s=_NOT_BEFORE_CHANGES_S)


class Offices:
    def __init__(self, setup: Setup, types: Cache[ResourceType], settings: ActionSettings) -> None:
        self._setup, self._types, self._settings = setup, types, settings
        self._offices: dict[str, _Office] = {}
        self._slots = asyncio.Semaphore(settings.concurrency)
        self._changed = asyncio.Event()

    def note(self, _: Change[ResourceType]) -> None:
        self._changed.set()

    def keep_of(self, kind: str) -> Keep:
        """What is kept of the history of resources, by the name of their type or kind; in force or not."""
        wanted = kind_name(kind)
        office = self._offices.get(wanted)
        if office is not None:
            return office.spec.history
        kept = (each.spec.history for each in self._types if kind_name(each.spec.name) == wanted)
        return max(kept, key=lambda each: (each.entries, each.max_age_days), default=Keep())

    async def run(self) -> None:
        """While the process leads."""
        self._changed.set()
        async with AsyncExitStack() as stack:
            while not types_in_force(self._types):
                await self._wait()
            means = await stack.enter_async_context(equipped(self._setup, self._settings))
            stack.push_async_callback(self._close)
            self._changed.set()
            while True:
                await self._wait()
                await self._arrange(types_in_force(self._types), means)

    async def _wait(self) -> None:
        await self._changed.wait()
        self._changed.clear()

    async def _close(self) -> None:
        """The controllers end with the term; the next one opens them anew."""
        offices, self._offices = self._offices, {}
        for office in offices.values():
            await self._setup.release(office.controller, grace_s=0.0)

    async def _arrange(self, wanted: dict[str, ResourceTypeSpec], means: Means) -> None:
        for kind, office in list(self._offices.items()):
            spec = wanted.get(kind)
            if spec is None or not _is_served_alike(resource_kind(spec), office.controller.kind):
                del self._offices[kind]
                await self._setup.release(office.controller)
                log.info("resources of a type are left alone", extra={"kind": kind})
        for kind, spec in wanted.items():
            if kind in self._offices:
                self._offices[kind].change(spec)
            else:
                self._offices[kind] = _Office(self._setup, spec, means, self._slots)
                log.info("resources of a type are looked after", extra={"kind": kind})


def _is_served_alike(one: Kind, other: Kind) -> bool:
    """Whether objects of the one are found where those of the other are: short names do not close an office."""
    return (one.path(""), one.kind) == (other.path(""), other.kind)


def types_in_force(types: Iterable[ResourceType]) -> dict[str, ResourceTypeSpec]:
    """By kind: the newest type whose definition the server has, also where a newer form of it is not in force and
    where it only waits for its last resources to go.
    """
    found: dict[str, ResourceType] = {}
    for each in types:
        if not _is_defined(each):
            continue
        kind = resource_kind(each.spec).kind
        held = found.get(kind)
        if held is None or _age(held) < _age(each):
            found[kind] = each
    return {kind: each.spec for kind, each in found.items()}


def _is_defined(each: ResourceType) -> bool:
    status = each.read_status(ResourceTypeStatus)
    ready = find(status.conditions, READY)
    return bool(status.plural) and ready is not None and ready.reason != DEFINING


def _age(each: ResourceType) -> tuple[str, str]:
    return each.metadata.creation_timestamp or "", each.metadata.name
