"""The workloads of the cluster and the budgets that protect them, watched from the first policy that asks about them.

Most policies are about Pods alone, and then nothing else is read, held or needs to be permitted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta

from homeostat.objects.decision import Wait
from homeostat.objects.kind import DAEMON_SET, DEPLOYMENT, DISRUPTION_BUDGET, REPLICA_SET, STATEFUL_SET, Kind
from homeostat.operators.policy.enforcement import Plan
from homeostat.operators.policy.pod import Pod
from homeostat.operators.policy.remedy import is_patched
from homeostat.operators.policy.workload import DisruptionBudget, Workload
from homeostat.runtime.cache import Change
from homeostat.runtime.informer import Informer
from homeostat.runtime.setup import Setup

_SYNC_WITHIN_S = 5.0
_AGAIN = timedelta(seconds=5)
_PATCHED = "policy-patched"
_BETWEEN = "ReplicaSet"


# A list does not say of which kind its items are.
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

OnChange = Callable[[str], None]
"""Told the namespace."""


class Estate:
    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._workloads: dict[str, Informer[Workload]] = {}
        self._replica_sets: Informer[Workload] | None = None
        self._budgets: Informer[DisruptionBudget] | None = None
        self._listeners: list[OnChange] = []
        self._was_late = False

    def listen(self, listener: OnChange) -> None:
        self._listeners.append(listener)

    async def ready(self, *, has_budgets: bool) -> None:
        """`Wait` while the first lists are on their way."""
        if not self._workloads:
            for name, (kind, shape) in WORKLOADS.items():
                informer: Informer[Workload] = self._setup.watch(kind, shape, indexes={_PATCHED: _patched})
                informer.add_handler(self._changed)
                self._workloads[name] = informer
            self._replica_sets = self._setup.watch(REPLICA_SET, Workload, is_metadata_only=True)
        if has_budgets and self._budgets is None:
            self._budgets = self._setup.watch(DISRUPTION_BUDGET, DisruptionBudget)
            self._budgets.add_handler(self._changed)
        await self._synced([*self._workloads.values(), self._replica_sets, self._budgets if has_budgets else None])

    async def _synced(self, informers: list[Informer[Workload] | Informer[DisruptionBudget] | None]) -> None:
        """Waited for once. Later a policy finds them there, or does not hold up those that can be looked at."""
        missing = [each for each in informers if each is not None and not each.watcher.synced.is_set()]
        try:
            async with asyncio.timeout(0 if self._was_late else _SYNC_WITHIN_S):
                for each in missing:
                    await each.synced()
            self._was_late = False
        except TimeoutError:
            self._was_late = True
            paths = ", ".join(each.source.path for each in missing if not each.watcher.synced.is_set())
            told = f"{paths} cannot be listed yet; may the operator list and watch them?"
            raise Wait("WorkloadsUnknown", _AGAIN, message=told) from None

    def workloads(self, namespace: str) -> Iterator[Workload]:
        for informer in self._workloads.values():
            yield from informer.cache.in_namespace(namespace)

    def workload(self, key: str) -> Workload | None:
        kind, namespace, name = key.split("/", 2)
        informer = next((each for word, each in self._workloads.items() if word.lower() == kind), None)
        return None if informer is None else informer.cache.get(namespace, name)

    def budgets(self, namespace: str) -> tuple[DisruptionBudget, ...]:
        return () if self._budgets is None else tuple(self._budgets.cache.in_namespace(namespace))

    def deployments(self, namespace: str, pods: Iterable[Pod]) -> Mapping[str, str]:
        """The Deployments of the ReplicaSets that the Pods belong to, as far as they are known."""
        if self._replica_sets is None:
            return {}
        names = {owner.name for pod in pods for owner in pod.metadata.owner_references or () if owner.kind == _BETWEEN}
        found = (self._replica_sets.cache.get(namespace, name) for name in names)
        return {
            each.metadata.name: owner.name
            for each in found
            if each is not None
            for owner in each.metadata.owner_references or ()
            if owner.kind == "Deployment"
        }

    def concerned(self, plans: tuple[Plan, ...], namespaces: Iterable[str]) -> dict[str, Workload]:
        """By key: the workloads of the plans, and those of the namespaces that were patched before."""
        found = {str(plan.owner): self.workload(str(plan.owner)) for plan in plans}
        for namespace in namespaces:
            for informer in self._workloads.values():
                found |= {each.key: each for each in informer.cache.indexed(_PATCHED, namespace)}
        return {key: each for key, each in found.items() if each is not None}

    def _changed(self, change: Change[Workload] | Change[DisruptionBudget]) -> None:
        for listener in self._listeners:
            listener(change.namespace)


def _patched(workload: Workload) -> tuple[str, ...]:
    return (workload.metadata.namespace,) if is_patched(workload) else ()
