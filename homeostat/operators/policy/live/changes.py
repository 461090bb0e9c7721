"""Which policies a change is about: noted in their books, and a look asked for.

The books are those of one term. Who does not lead holds none, so that nothing is missed between two terms and no
series is shown twice.
"""

from __future__ import annotations

import asyncio
from typing import Generic, TypeVar

from homeostat.objects.kind import POD, REPLICA_SET
from homeostat.objects.views.pod import Pod
from homeostat.operators.policy.api import ClusterDevOpsPolicy, DevOpsPolicy
from homeostat.operators.policy.decide import Action
from homeostat.operators.policy.engine.namespaces import is_system
from homeostat.operators.policy.live.results import ResultsByPolicy
from homeostat.operators.policy.live.workloads import Affected, WorkloadCache
from homeostat.operators.policy.metrics import Series
from homeostat.operators.policy.world import World
from homeostat.runtime.cache.cache import Cache, Change
from homeostat.runtime.control.controller import Controller
from homeostat.runtime.setup import Setup

P = TypeVar("P", DevOpsPolicy, ClusterDevOpsPolicy)


class Follower(Generic[P]):
    """Of one kind of policy. Changes within `gather_s` are seen in one look: one that means many namespaces costs."""

    def __init__(
        self,
        controller: Controller[P, World, Action],
        results: ResultsByPolicy,
        series: Series,
        *,
        gather_s: float = 0.0,
    ) -> None:
        self._controller: Controller[P, World, Action] = controller
        self._results, self._series, self._gather_s = results, series, gather_s

    def follow(self, setup: Setup, workload_cache: WorkloadCache) -> None:
        pods = setup.watch(POD, Pod)
        pods.add_handler(self._pod_changed)
        self._controller.informer.add_handler(self._policy_changed)
        workload_cache.listen(lambda affected: self._workload_changed(affected, pods.cache))
        setup.run(self._lead)

    def look_at_all(self) -> None:
        for policy in self._controller.informer.cache:
            self._look(policy.metadata.namespace, policy.metadata.name)

    async def _lead(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            self._results.clear()
            self._series.forget_all()

    def _pod_changed(self, change: Change[Pod]) -> None:
        if not self._results or is_system(change.namespace):
            return
        is_alike = change.old is not None and change.new is not None and _look_alike(change.old, change.new)
        for namespace, name in self._results.note_pod(change.namespace, change.name, is_alike=is_alike):
            self._look(namespace, name)

    def _policy_changed(self, change: Change[P]) -> None:
        """One that went without our finalizer leaves nothing behind either."""
        if change.new is None:
            key = (change.namespace, change.name)
            self._results.close(key)
            self._series.forget(key)

    def _workload_changed(self, affected: Affected, pods: Cache[Pod]) -> None:
        if not self._results:
            return
        namespace, key, replica_set = affected
        if replica_set:
            members = [each.name for each in pods.in_namespace(namespace) if _is_member(each, replica_set)]
            noted = self._results.note_owners(namespace, members) if members else []
        else:
            noted = self._results.note_workloads(namespace, key)
        for own, name in noted:
            self._look(own, name)

    def _look(self, namespace: str, name: str) -> None:
        self._controller.enqueue(namespace, name, after_s=self._gather_s)


def _is_member(pod: Pod, replica_set: str) -> bool:
    owners = pod.metadata.owner_references or ()
    return any(each.kind == REPLICA_SET.kind and each.name == replica_set for each in owners)


def _look_alike(old: Pod, new: Pod) -> bool:
    """To every check: what is equal is mostly one value (see `pod`)."""
    return (
        (old.spec is new.spec or old.spec == new.spec)
        and (old.status is new.status or old.status == new.status)
        and old.metadata.labels == new.metadata.labels
        and old.metadata.creation_timestamp == new.metadata.creation_timestamp
        and old.metadata.owner_references == new.metadata.owner_references
    )
