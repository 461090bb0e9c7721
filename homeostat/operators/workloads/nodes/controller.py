"""Simulated Nodes: creates them at the first start, makes every Node Ready, and renews their Leases."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

from homeostat.client.base import UnreachableError
from homeostat.objects.errors import AlreadyExistsError, ApiError, NotFoundError
from homeostat.objects.kind import LEASE
from homeostat.objects.time.timestamp import format_micro_time, format_time
from homeostat.operators.workloads.api import NODE, Workload
from homeostat.operators.workloads.events import Events
from homeostat.operators.workloads.nodes.decide import (
    address_of,
    decide,
    internal_address,
    lease_of,
    new_node,
    node_name,
)
from homeostat.operators.workloads.nodes.failure import outcome_fault, wanted_taints
from homeostat.operators.workloads.reconciler import Key, Reconciler
from homeostat.operators.workloads.settings import Settings
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.cache.informer import Informer
from homeostat.runtime.setup import Setup

_RENEW_EVERY_S: Final = 10.0
_AT_ONCE: Final = 32


class Nodes:
    def __init__(self, setup: Setup, nodes: Informer[Workload], settings: Settings, events: Events) -> None:
        self._client, self._nodes, self._settings, self._events = setup.client, nodes, settings, events
        self._addresses: dict[str, str] = {}
        """Of all Nodes, by name: each has its own."""
        self._next = 0
        self._wanted: dict[str, int] = {}
        """Numbers of the Nodes that are still to be created, by name; a refused one is tried again."""
        self._reconciler = Reconciler(setup, "nodes", self._reconcile)
        nodes.add_handler(self._note)
        setup.run(self._want)
        setup.run(self._renew)

    def _note(self, change: Change[Workload]) -> None:
        if change.new is None:
            self._addresses.pop(change.name, None)
        elif found := internal_address(change.new):
            self._addresses[change.name] = found
        self._note_fault(change)
        self._reconciler.add(("", change.name))

    def _note_fault(self, change: Change[Workload]) -> None:
        fault = outcome_fault(change.new) if change.new is not None else ""
        if change.new is not None and fault and (change.old is None or outcome_fault(change.old) != fault):
            self._events.record(NODE, change.new.metadata, "InvalidRule", fault, by="workloads", type_="Warning")

    async def _want(self) -> None:
        """A Node that a user deletes stays deleted until the next start."""
        for number in range(self._settings.nodes):
            name = node_name(number)
            if self._nodes.cache.get("", name) is None:
                self._wanted[name] = number
                self._reconciler.add(("", name))

    async def _create(self, name: str) -> None:
        with suppress(AlreadyExistsError):
            await self._client.create(NODE.path(""), new_node(self._wanted[name]))
        self._wanted.pop(name, None)

    async def _reconcile(self, key: Key) -> None:
        node = self._nodes.cache.get(*key)
        if node is None:
            if key[1] in self._wanted:
                await self._create(key[1])
            return
        self._wanted.pop(key[1], None)
        address = self._addresses.get(key[1]) or self._take_address(key[1])
        now = format_time(datetime.now(UTC))
        taints = wanted_taints(node, now)
        if taints is not None:
            version = {"resourceVersion": node.metadata.resource_version}
            await self._client.merge(NODE.path("", key[1]), {"metadata": version, "spec": {"taints": taints or None}})
        status = decide(node, self._settings.size, address=address, now=now)
        if status is not None:
            await self._client.merge(NODE.path("", key[1], "status"), {"status": status})
            await self._hold(node)

    def _take_address(self, name: str) -> str:
        used = set(self._addresses.values())
        while (found := address_of(self._next)) in used:
            self._next += 1
        self._addresses[name] = found
        return found

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(_RENEW_EVERY_S)
            nodes = list(self._nodes.cache)
            for start in range(0, len(nodes), _AT_ONCE):
                await asyncio.gather(*(self._try_hold(each) for each in nodes[start : start + _AT_ONCE]))

    async def _try_hold(self, node: Workload) -> None:
        try:
            await self._hold(node)
        except (ApiError, UnreachableError):
            return  # The next round renews it.

    async def _hold(self, node: Workload) -> None:
        lease = lease_of(node, format_micro_time(datetime.now(UTC)))
        path = LEASE.path("kube-node-lease", node.metadata.name)
        try:
            await self._client.merge(path, {"spec": lease["spec"]})
        except NotFoundError:
            await self._client.create(LEASE.path("kube-node-lease"), lease)
