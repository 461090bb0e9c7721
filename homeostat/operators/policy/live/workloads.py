"""A cache of workloads and PodDisruptionBudgets. The watches start with the first policy that needs them.

Most policies check only Pods; then nothing else is read or cached, and no further permissions are needed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from homeostat.objects.decision import Wait
from homeostat.objects.kind import DAEMON_SET, DEPLOYMENT, DISRUPTION_BUDGET, REPLICA_SET, STATEFUL_SET, Kind
from homeostat.objects.views.pod import Pod
from homeostat.objects.views.replica_set import ReplicaSet, is_changed_declaration, is_relinked
from homeostat.objects.views.workload import DisruptionBudget, Workload, key_of
from homeostat.operators.policy.enforcement.patch import is_patched
from homeostat.operators.policy.enforcement.plan import Plan
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.cache.informer import Informer
from homeostat.runtime.setup import Setup

_SYNC_WITHIN_S = 5.0
_RETRY = timedelta(seconds=5)
_PATCHED, _UNOWNED = "policy-patched", "policy-unowned"


# The items of a list have no kind.
class DeploymentWorkload(Workload, frozen=True):
    kind: str = "Deployment"


class StatefulSetWorkload(Workload, frozen=True):
    kind: str = "StatefulSet"


class DaemonSetWorkload(Workload, frozen=True):
    kind: str = "DaemonSet"


WORKLOADS: dict[str, tuple[Kind, type[Workload]]] = {
    "Deployment": (DEPLOYMENT, DeploymentWorkload),
    "StatefulSet": (STATEFUL_SET, StatefulSetWorkload),
    "DaemonSet": (DAEMON_SET, DaemonSetWorkload),
}


CHECKED_WORKLOADS: tuple[tuple[Kind, type[Workload]], ...] = (*WORKLOADS.values(), (REPLICA_SET, ReplicaSet))
"""The kinds that checks of workloads evaluate."""


class Affected(NamedTuple):
    """What a change affects: one workload, or without a key all workloads of the namespace. `replica_set` names a
    ReplicaSet whose Pods have another owner now.
    """

    namespace: str
    key: str = ""
    replica_set: str = ""


OnChange = Callable[[Affected], None]


class WorkloadCache:
    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._workloads: dict[str, Informer[Workload]] = {}
        self._replica_sets: Informer[ReplicaSet] | None = None
        self._budgets: Informer[DisruptionBudget] | None = None
        self._listeners: list[OnChange] = []
        self._timed_out = False

    def listen(self, listener: OnChange) -> None:
        self._listeners.append(listener)

    async def ready(self, *, has_budgets: bool) -> None:
        """Raises `Wait` until the first lists have arrived."""
        if self._replica_sets is None:
            for name, (kind, shape) in WORKLOADS.items():
                informer: Informer[Workload] = self._setup.watch(kind, shape, indexes={_PATCHED: _patched})
                informer.add_handler(self._workload_changed)
                self._workloads[name.lower()] = informer
            self._replica_sets = self._setup.watch(REPLICA_SET, ReplicaSet, indexes={_UNOWNED: _unowned})
            self._replica_sets.add_handler(self._replica_set_changed)
        if has_budgets and self._budgets is None:
            self._budgets = self._setup.watch(DISRUPTION_BUDGET, DisruptionBudget)
            self._budgets.add_handler(lambda change: self._notify(Affected(change.namespace)))
        needed: list[Informer[Any] | None] = [*self._workloads.values(), self._replica_sets]
        await self._synced([*needed, self._budgets if has_budgets else None])

    async def _synced(self, informers: list[Informer[Any] | None]) -> None:
        """Waits only once, so that later reconciliations do not block the workers."""
        missing = [each for each in informers if each is not None and not each.watcher.synced.is_set()]
        try:
            async with asyncio.timeout(0 if self._timed_out else _SYNC_WITHIN_S):
                for each in missing:
                    await each.synced()
            self._timed_out = False
        except TimeoutError:
            self._timed_out = True
            paths = ", ".join(each.source.path for each in missing if not each.watcher.synced.is_set())
            text = f"Cannot list {paths} yet; check that the operator is allowed to list and watch them"
            raise Wait("WorkloadsUnknown", _RETRY, message=text) from None

    def workloads(self, namespace: str) -> Iterator[Workload]:
        """The workloads to evaluate. A ReplicaSet with an owner is not evaluated; its owner is."""
        for informer in self._workloads.values():
            yield from informer.cache.in_namespace(namespace)
        if self._replica_sets is not None:
            yield from self._replica_sets.cache.indexed(_UNOWNED, namespace)

    def workload(self, key: str) -> Workload | None:
        """None also for a ReplicaSet with an owner and for an unreadable workload; neither is evaluated."""
        kind, namespace, name = key.split("/", 2)
        if (informer := self._workloads.get(kind)) is not None:
            return informer.cache.readable(namespace, name)
        found = None if self._replica_sets is None else self._replica_sets.cache.readable(namespace, name)
        return None if found is None or found.is_owned else found

    def budgets(self, namespace: str) -> tuple[DisruptionBudget, ...]:
        return () if self._budgets is None else tuple(self._budgets.cache.in_namespace(namespace))

    def deployments(self, pod: Pod) -> Mapping[str, str]:
        """The Deployments of the ReplicaSets that the Pod belongs to, as far as they are known."""
        if self._replica_sets is None:
            return {}
        get, namespace = self._replica_sets.cache.readable, pod.metadata.namespace
        names = (owner.name for owner in pod.metadata.owner_references or () if owner.kind == REPLICA_SET.kind)
        return {name: found.deployment for name in names if (found := get(namespace, name)) is not None}

    def relevant(self, plans: tuple[Plan, ...], namespaces: Iterable[str]) -> dict[str, Workload]:
        """By key: the workloads of the plans, and the workloads of the namespaces that were patched before."""
        found = {key: each for plan in plans if (each := self.workload(key := str(plan.owner))) is not None}
        for namespace in namespaces:
            for informer in self._workloads.values():
                found |= {each.key: each for each in informer.cache.indexed(_PATCHED, namespace)}
        return found

    def _workload_changed(self, change: Change[Workload]) -> None:
        some = change.new or change.old
        if some is not None:
            self._notify(Affected(change.namespace, some.key))

    def _replica_set_changed(self, change: Change[ReplicaSet]) -> None:
        namespace, name, old, new = change
        if is_relinked(name, old, new):
            self._notify(Affected(namespace, replica_set=name))
        if is_changed_declaration(old, new):
            self._notify(Affected(namespace, key_of(REPLICA_SET.kind, namespace, name)))

    def _notify(self, affected: Affected) -> None:
        for listener in self._listeners:
            listener(affected)


def _patched(workload: Workload) -> tuple[str, ...]:
    return (workload.metadata.namespace,) if is_patched(workload) else ()


def _unowned(replica_set: ReplicaSet) -> tuple[str, ...]:
    return () if replica_set.is_owned else (replica_set.metadata.namespace,)
