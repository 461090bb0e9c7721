"""Routes changes of Pods, workloads and policies: marks what to evaluate again and enqueues the policies.

Results are kept only while this process is the leader. A follower has none, so it misses no change before it becomes
leader, and no metric series is exported twice.
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


class ChangeRouter(Generic[P]):
    """For one kind of policy. Changes within `debounce_s` lead to one reconciliation."""

    def __init__(
        self,
        controller: Controller[P, World, Action],
        results: ResultsByPolicy,
        series: Series,
        *,
        debounce_s: float = 0.0,
    ) -> None:
        self._controller: Controller[P, World, Action] = controller
        self._results, self._series, self._debounce_s = results, series, debounce_s

    def start(self, setup: Setup, workload_cache: WorkloadCache) -> None:
        pods = setup.watch(POD, Pod)
        pods.add_handler(self._pod_changed)
        self._controller.informer.add_handler(self._policy_changed)
        workload_cache.listen(lambda affected: self._workload_changed(affected, pods.cache))
        setup.run(self._clear_at_end)

    def enqueue_all(self) -> None:
        for policy in self._controller.informer.cache:
            self._enqueue(policy.metadata.namespace, policy.metadata.name)

    async def _clear_at_end(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            self._results.clear()
            self._series.forget_all()

    def _pod_changed(self, change: Change[Pod]) -> None:
        if not self._results or is_system(change.namespace):
            return
        is_equal = change.old is not None and change.new is not None and _is_equal_for_checks(change.old, change.new)
        for namespace, name in self._results.mark_pod(change.namespace, change.name, is_equal=is_equal):
            self._enqueue(namespace, name)

    def _policy_changed(self, change: Change[P]) -> None:
        """Removes the results of a deleted policy, even if it was deleted without our finalizer."""
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
            marked = self._results.mark_owners(namespace, members) if members else []
        else:
            marked = self._results.mark_workloads(namespace, key)
        for policy_namespace, name in marked:
            self._enqueue(policy_namespace, name)

    def _enqueue(self, namespace: str, name: str) -> None:
        self._controller.enqueue(namespace, name, after_s=self._debounce_s)


def _is_member(pod: Pod, replica_set: str) -> bool:
    owners = pod.metadata.owner_references or ()
    return any(each.kind == REPLICA_SET.kind and each.name == replica_set for each in owners)


def _is_equal_for_checks(old: Pod, new: Pod) -> bool:
    """Whether every built-in check gives the same result. Equal parts are mostly the same value (see `pod`)."""
    return (
        (old.spec is new.spec or old.spec == new.spec)
        and (old.status is new.status or old.status == new.status)
        and old.metadata.labels == new.metadata.labels
        and old.metadata.creation_timestamp == new.metadata.creation_timestamp
        and old.metadata.owner_references == new.metadata.owner_references
    )
