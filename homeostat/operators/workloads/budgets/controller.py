"""Keeps the status of PodDisruptionBudgets, which decides whether `kubectl drain` and evictions go on."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from homeostat.objects.errors import BadRequestError
from homeostat.objects.kind import DEPLOYMENT, REPLICA_SET, STATEFUL_SET
from homeostat.objects.selectors import LabelSelector, selector_of
from homeostat.operators.workloads.api import BUDGET, REPLICATION_CONTROLLER, Pod, Workload
from homeostat.operators.workloads.budgets.decide import decide
from homeostat.operators.workloads.reconciler import Key, Reconciler
from homeostat.operators.workloads.status import status_patch
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.cache.informer import Informer
from homeostat.runtime.setup import Setup

_OWNERS = (DEPLOYMENT, REPLICA_SET, STATEFUL_SET, REPLICATION_CONTROLLER)
_REQUIRED = ("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods")


class Budgets:
    def __init__(self, setup: Setup, budgets: Informer[Workload], pods: Informer[Pod]) -> None:
        self._client, self._budgets, self._pods = setup.client, budgets.cache, pods.cache
        self._reconciler = Reconciler(setup, "budgets", self._reconcile, workers=4)
        watched = {kind.kind: setup.watch(kind, Workload) for kind in _OWNERS}
        self._owners = {name: informer.cache for name, informer in watched.items()}
        for informer in watched.values():
            informer.add_handler(self._note_owner)
        budgets.add_handler(lambda change: self._reconciler.add((change.namespace, change.name)))
        pods.add_handler(self._note_pod)

    def _note_owner(self, change: Change[Workload]) -> None:
        """A new size; the Pods themselves are noted one by one."""
        if (
            change.old is None
            or change.new is None
            or change.old.spec.get("replicas") != change.new.spec.get("replicas")
        ):
            for each in self._budgets.in_namespace(change.namespace):
                self._reconciler.soon(each.key)

    def _note_pod(self, change: Change[Pod]) -> None:
        for budget in self._budgets.in_namespace(change.namespace):
            selector = _selector(budget)
            found = (each for each in (change.old, change.new) if each is not None)
            if selector is not None and any(selector.matches(each.metadata.labels) for each in found):
                self._reconciler.soon(budget.key)

    async def _reconcile(self, key: Key) -> None:
        budget = self._budgets.get(*key)
        if budget is None or budget.metadata.is_terminating:
            return
        selector = _selector(budget)
        found = self._pods.in_namespace(key[0]) if selector is not None else ()
        pods = [each for each in found if selector is not None and selector.matches(each.metadata.labels)]
        decision = decide(budget, pods, self._sizes(pods), datetime.now(UTC))
        if decision.again_s is not None:
            self._reconciler.add(key, after_s=decision.again_s)
        if decision.status is not None:
            patch = status_patch(decision.status, *_REQUIRED)
            # An eviction may have charged the budget meanwhile: then this is refused and computed again.
            patch["metadata"] = {"resourceVersion": budget.metadata.resource_version}
            if (gone := budget.status.get("disruptedPods")) and decision.status["disruptedPods"] != gone:
                patch["status"]["disruptedPods"] = {**dict.fromkeys(gone), **decision.status["disruptedPods"]}
            await self._client.merge(BUDGET.path(*key, "status"), patch)

    def _sizes(self, pods: Iterable[Pod]) -> dict[str, int]:
        """What the controllers of the Pods want, by uid: a Deployment instead of its ReplicaSets."""
        sizes: dict[str, int] = {}
        for pod in pods:
            owner = pod.metadata.controller
            found = None
            while owner is not None and owner.kind in self._owners:
                found = self._owners[owner.kind].readable(pod.metadata.namespace, owner.name)
                owner = None if found is None else found.metadata.controller
            if found is not None:
                sizes[found.metadata.uid] = found.spec.get("replicas", 1)
        return sizes


def _selector(budget: Workload) -> LabelSelector | None:
    """None for a budget that selects nothing."""
    try:
        return selector_of(budget.spec["selector"]) if budget.spec.get("selector") is not None else None
    except BadRequestError:
        return None
