"""Keeps the status of PodDisruptionBudgets, which decides whether `kubectl drain` and evictions go on."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from homeostat.objects.errors import BadRequestError
from homeostat.objects.kind import Kind
from homeostat.objects.selectors import LabelSelector, selector_of
from homeostat.operators.workloads.api import BUDGET, Pod, Workload
from homeostat.operators.workloads.budgets.decide import counts_owners, decide, failed
from homeostat.operators.workloads.budgets.owners import NO_OWNERS, OWNERS, Owners, owners_of
from homeostat.operators.workloads.budgets.scales import ScaleError, Scales
from homeostat.operators.workloads.events import Events
from homeostat.operators.workloads.reconciler import Key, Reconciler
from homeostat.operators.workloads.selection import possible_pods, possible_selectors
from homeostat.operators.workloads.status import status_patch
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.cache.informer import Informer
from homeostat.runtime.setup import Setup

_COMPONENT = "controllermanager"
_REQUIRED = ("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods")
_UNCOUNTED = "Failed to calculate the number of expected pods"
_UNMANAGED = (
    "Pods selected by this PodDisruptionBudget (selector: {selector}) were found to be unmanaged. As a result, the "
    "status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these "
    'pods please set ".spec.minAvailable" field of the PDB to an integer value.'
)


class Budgets:
    def __init__(self, setup: Setup, budgets: Informer[Workload], pods: Informer[Pod], events: Events) -> None:
        self._client, self._budgets, self._pods, self._events = setup.client, budgets.cache, pods.cache, events
        self._reconciler = Reconciler(setup, "budgets", self._reconcile, workers=4)
        self._scales = Scales(setup.client, asyncio.get_running_loop().time)
        self._selectors: dict[str, tuple[int, LabelSelector | None]] = {}
        """By the uid of the budget: the generation that it was parsed from, and the selector."""
        watched = {kind: setup.watch(kind, Workload) for kind in OWNERS}
        self._owners = {kind: informer.cache for kind, informer in watched.items()}
        for informer in watched.values():
            informer.add_handler(self._note_owner)
        budgets.add_handler(self._note_budget)
        pods.add_handler(self._note_pod)

    def _note_budget(self, change: Change[Workload]) -> None:
        if change.old is not None and (change.new is None or change.new.metadata.uid != change.old.metadata.uid):
            self._selectors.pop(change.old.metadata.uid, None)
        self._reconciler.add((change.namespace, change.name))

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
        found = [each.metadata.labels for each in (change.old, change.new) if each is not None]
        for budget in possible_selectors(self._budgets, change.namespace, *found):
            selector = self._selector(budget)
            if selector is not None and any(map(selector.matches, found)):
                self._reconciler.soon(budget.key)

    async def _reconcile(self, key: Key) -> None:
        budget = self._budgets.get(*key)
        if budget is None or budget.metadata.is_terminating:
            return
        selector = self._selector(budget)
        found = possible_pods(budget, self._pods) if selector is not None else ()
        pods = [each for each in found if selector is not None and selector.matches(each.metadata.labels)]
        if not pods and self._is_news(budget):
            self._events.record(BUDGET, budget.metadata, "NoPods", "No matching pods found", by=_COMPONENT)
        now = datetime.now(UTC)
        try:
            owners = owners_of(pods, self._find) if counts_owners(budget) else NO_OWNERS
            sizes = {**owners.sizes, **await self._other_sizes(budget, owners)}
        except ScaleError as error:
            await self._fail(budget, str(error), now)
            return
        decision = decide(budget, pods, sizes, now)
        if owners.has_unmanaged and decision.status is not None:
            self._warn(budget, "UnmanagedPods", _UNMANAGED.format(selector=selector))
        if decision.again_s is not None:
            self._reconciler.add(key, after_s=decision.again_s)
        if decision.status is not None:
            patch = status_patch(decision.status, *_REQUIRED)
            # An eviction may have charged the budget meanwhile: then this is refused and computed again.
            patch["metadata"] = {"resourceVersion": budget.metadata.resource_version}
            if (gone := budget.status.get("disruptedPods")) and decision.status["disruptedPods"] != gone:
                patch["status"]["disruptedPods"] = {**dict.fromkeys(gone), **decision.status["disruptedPods"]}
            await self._client.merge(BUDGET.path(*key, "status"), patch)

    async def _other_sizes(self, budget: Workload, owners: Owners) -> dict[str, int]:
        """By uid; `ScaleError` if one of them has none."""
        namespace = budget.metadata.namespace
        return {each.owner.uid: await self._scales.size_of(each, namespace) for each in owners.others}

    async def _fail(self, budget: Workload, message: str, now: datetime) -> None:
        status = failed(budget, message, now)
        if status is not None:
            self._warn(budget, "CalculateExpectedPodCountFailed", f"{_UNCOUNTED}: {message}")
            await self._client.merge(BUDGET.path(*budget.key, "status"), status_patch(status, *_REQUIRED))

    def _warn(self, budget: Workload, reason: str, message: str) -> None:
        self._events.record(BUDGET, budget.metadata, reason, message, by=_COMPONENT, type_="Warning")

    def _is_news(self, budget: Workload) -> bool:
        """Whether its last status had Pods, or was for another spec: an Event is not repeated."""
        status = budget.status
        return status.get("observedGeneration") != budget.metadata.generation or bool(status.get("currentHealthy"))

    def _find(self, kind: Kind, namespace: str, name: str) -> Workload | None:
        return self._owners[kind].readable(namespace, name)

    def _selector(self, budget: Workload) -> LabelSelector | None:
        meta = budget.metadata
        kept = self._selectors.get(meta.uid)
        if kept is None or kept[0] != meta.generation:
            kept = self._selectors[meta.uid] = (meta.generation, _parsed_selector(budget))
        return kept[1]


def _parsed_selector(budget: Workload) -> LabelSelector | None:
    """None for a budget that selects nothing."""
    try:
        return selector_of(budget.spec["selector"]) if budget.spec.get("selector") is not None else None
    except BadRequestError:
        return None
