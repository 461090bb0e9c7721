"""The Services and workloads that contracts are bound to, from caches.

A kind is watched from the first Pacto on that needs it: a cluster has many ReplicaSets and Jobs, and few contracts are
about them. Promises, each with a test: what cannot be read is a `Failure` and never absent; a change that no check
sees causes no reconciliation.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from homeostat.objects.kind import DEPLOYMENT, SERVICE, Kind
from homeostat.operators.contracts.api import WORKLOADS
from homeostat.operators.contracts.engine.checks.evaluate import Failure
from homeostat.operators.contracts.engine.checks.resources import Target
from homeostat.operators.contracts.engine.checks.snapshot import Snapshot, observe
from homeostat.operators.contracts.live.projections import SeenService, SeenWorkload, fields_of
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.cache.informer import Informer
from homeostat.runtime.cache.unreadable import UnreadableError
from homeostat.runtime.setup import Setup

_SYNC_WITHIN_S: Final = 5.0
OnChange = Callable[[str, str], None]
"""Gets the namespace and the name of an object that changed."""


class Targets:
    def __init__(self, setup: Setup, on_change: OnChange) -> None:
        self._setup, self._on_change = setup, on_change
        self._informers: dict[Kind, Informer[Any]] = {}
        self._timed_out: set[Kind] = set()

    async def snapshot(self, target: Target, namespace: str) -> Snapshot | Failure:
        """Waits a moment for the first list of a kind."""
        workload_kind = WORKLOADS.get(target.kind, DEPLOYMENT)
        kinds = [SERVICE, workload_kind] if target.service else [workload_kind]
        for kind in kinds:
            if not await self._is_synced(kind):
                return Failure(
                    f"Cannot list {kind.plural} yet; check that the operator is allowed to list and watch them"
                )
        try:
            service = self._get(SERVICE, namespace, target.service) if target.service else None
            workload = self._get(workload_kind, namespace, target.workload)
        except UnreadableError as error:
            return Failure(f"Cannot read the target: {error}")
        return observe(service, workload, kind=target.kind)

    def _get(self, kind: Kind, namespace: str, name: str) -> Any:
        found = self._informers[kind].cache.get(namespace, name)
        return None if found is None else fields_of(found)

    async def _is_synced(self, kind: Kind) -> bool:
        """Waits only once for a kind that cannot be listed, so that later reconciliations do not block the workers."""
        informer = self._informers.get(kind) or self._watch(kind)
        if informer.cache.is_synced:
            return True
        try:
            async with asyncio.timeout(0 if kind in self._timed_out else _SYNC_WITHIN_S):
                await informer.synced()
        except TimeoutError:
            self._timed_out.add(kind)
            return False
        self._timed_out.discard(kind)
        return True

    def _watch(self, kind: Kind) -> Informer[Any]:
        shape: type[SeenService] | type[SeenWorkload] = SeenService if kind is SERVICE else SeenWorkload
        informer: Informer[Any] = self._setup.watch(kind, shape)
        self._informers[kind] = informer
        informer.add_handler(self._changed)
        informer.add_unreadable_handler(lambda each: self._on_change(each.namespace, each.name))
        return informer

    def _changed(self, change: Change[Any]) -> None:
        old, new = change.old, change.new
        if old is None or new is None or old.spec != new.spec:
            self._on_change(change.namespace, change.name)
