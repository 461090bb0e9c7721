"""Keeps the Pods of ReplicaSets, or of ReplicationControllers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from homeostat.objects.errors import ApiError, BadRequestError
from homeostat.objects.kind import Kind
from homeostat.operators.workloads.api import Pod, Workload
from homeostat.operators.workloads.creation import Creation, random_suffix
from homeostat.operators.workloads.family import BY_OWNER, claim_pods, owner_router
from homeostat.operators.workloads.naming import suffixed
from homeostat.operators.workloads.reconciler import Key, Reconciler
from homeostat.operators.workloads.replicas.decide import decide, selector_of_set
from homeostat.operators.workloads.selection import possible_selectors
from homeostat.operators.workloads.status import status_patch
from homeostat.operators.workloads.template import pod_from
from homeostat.runtime.cache.informer import Informer
from homeostat.runtime.setup import Setup


class Replicas:
    def __init__(
        self, setup: Setup, kind: Kind, sets: Informer[Workload], pods: Informer[Pod], creation: Creation
    ) -> None:
        self._client, self._kind, self._sets, self._pods, self._creation = setup.client, kind, sets, pods, creation
        self._is_plain = kind.kind == "ReplicationController"
        self._reconciler = Reconciler(setup, kind.plural, self._reconcile)
        sets.add_handler(lambda change: self._reconciler.add((change.namespace, change.name)))
        pods.add_handler(owner_router(kind, self._reconciler.soon, self._possible_owners))

    def _possible_owners(self, pod: Pod) -> list[Key]:
        """The sets that an orphan matches."""
        found = possible_selectors(self._sets.cache, pod.metadata.namespace, pod.metadata.labels)
        return [each.key for each in found if self._selects(each, pod)]

    def _selects(self, workload: Workload, pod: Pod) -> bool:
        try:
            return selector_of_set(workload, is_plain=self._is_plain).matches(pod.metadata.labels)
        except BadRequestError:
            return False

    async def _reconcile(self, key: Key) -> None:
        workload = self._sets.cache.get(*key)
        if workload is None:
            return
        pods = await claim_pods(
            self._client,
            self._kind,
            workload,
            self._pods.cache,
            selector_of_set(workload, is_plain=self._is_plain),
            adopts=lambda pod: pod.is_active,
        )
        decision = decide(workload, pods, related=self._related(workload), now=datetime.now(UTC))
        failure = ""
        if decision.create:
            failure = await self._create(workload, decision.create)
        if decision.delete:
            await self._creation.delete(workload.metadata, decision.delete)
        if (decision.create or decision.delete) and not failure:
            # The status follows when the caches have the Pods; until then the old one stands.
            self._reconciler.add(key)
            return
        if failure:
            decision = decide(workload, pods, failure=failure, now=datetime.now(UTC))
        if decision.again_s is not None:
            self._reconciler.add(key, after_s=decision.again_s)
        if decision.status is not None:
            await self._client.merge(self._kind.path(*key, "status"), status_patch(decision.status, "replicas"))
        if failure:
            raise ApiError(failure)

    def _related(self, workload: Workload) -> Iterator[Pod]:
        """The running Pods of the other sets of its Deployment, in an update."""
        owner = None if self._is_plain else workload.metadata.controller
        for each in () if owner is None else self._sets.cache.indexed(BY_OWNER, owner.uid):
            if each.metadata.uid != workload.metadata.uid:
                yield from filter(lambda pod: pod.is_active, self._pods.cache.indexed(BY_OWNER, each.metadata.uid))

    async def _create(self, workload: Workload, count: int) -> str:
        template = workload.spec.get("template") or {}
        names = [suffixed(workload.metadata.name, random_suffix()) for _ in range(count)]
        pods = [pod_from(template, kind=self._kind, owner=workload.metadata, name=each) for each in names]
        return await self._creation.create(workload.metadata, pods)
