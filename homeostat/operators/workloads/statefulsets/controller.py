"""Keeps the Pods, claims and revisions of StatefulSets."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from homeostat.objects.errors import AlreadyExistsError, ApiError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import POD, STATEFUL_SET
from homeostat.objects.selectors import selector_of, selects
from homeostat.operators.workloads.api import CLAIM, Meta, Pod, Workload
from homeostat.operators.workloads.creation import OF_STATEFUL_SETS, Creation
from homeostat.operators.workloads.events import Events
from homeostat.operators.workloads.family import claim_pods, owner_router
from homeostat.operators.workloads.reconciler import Key, Reconciler
from homeostat.operators.workloads.revisions import Revisions
from homeostat.operators.workloads.selection import possible_selectors
from homeostat.operators.workloads.statefulsets.decide import (
    HASH,
    Create,
    claims_for,
    decide,
    ordinal_of,
    ordinals_of,
    pod_additions,
)
from homeostat.operators.workloads.statefulsets.retention import claim_names, is_stale, owner_changes
from homeostat.operators.workloads.status import status_patch
from homeostat.operators.workloads.template import pod_from
from homeostat.runtime.cache.informer import Informer
from homeostat.runtime.setup import Setup

COMPONENT: Final = "statefulset-controller"


class StatefulSets:
    def __init__(
        self,
        setup: Setup,
        sets: Informer[Workload],
        pods: Informer[Pod],
        *,
        revisions: Revisions,
        creation: Creation,
        events: Events,
    ) -> None:
        self._client, self._sets, self._pods = setup.client, sets.cache, pods.cache
        self._revisions, self._creation, self._events = revisions, creation, events
        self._claims = setup.watch(CLAIM, Workload).cache
        self._reconciler = Reconciler(setup, "statefulsets", self._reconcile)
        sets.add_handler(lambda change: self._reconciler.add((change.namespace, change.name)))
        pods.add_handler(owner_router(STATEFUL_SET, self._reconciler.soon, self._possible_owners))

    def _possible_owners(self, pod: Pod) -> list[Key]:
        return [
            each.key
            for each in possible_selectors(self._sets, pod.metadata.namespace, pod.metadata.labels)
            if ordinal_of(each, pod) is not None and selects(each.spec.get("selector"), pod.metadata.labels)
        ]

    async def _reconcile(self, key: Key) -> None:
        workload = self._sets.get(*key)
        if workload is None:
            return
        selector = selector_of(workload.spec.get("selector"))

        def is_member(pod: Pod) -> bool:
            return ordinal_of(workload, pod) is not None

        owned = await claim_pods(self._client, STATEFUL_SET, workload, self._pods, selector, adopts=is_member)
        pods = [each for each in owned if is_member(each)]
        former = workload.status.get("currentRevision") or ""
        used = {former, *(each.metadata.labels.get(HASH, "") for each in pods)}
        update = (await self._revisions.current(STATEFUL_SET, workload, used)).name
        decision = decide(workload, pods, current=former or update, update=update, now=datetime.now(UTC))
        if not workload.metadata.is_terminating:
            await self._create_missing_claims(workload, pods)
            await self._own_claims(workload, pods)
        if decision.delete:
            await self._creation.delete(workload.metadata, decision.delete)
        failure = ""
        if decision.create:
            failure = await self._create(workload, decision.create, update)
        if decision.status is not None:
            await self._client.merge(
                STATEFUL_SET.path(*key, "status"), status_patch(decision.status, "replicas", "collisionCount")
            )
            if decision.status["currentRevision"] != former:
                self._reconciler.add(key)
        if decision.again_s is not None:
            self._reconciler.add(key, after_s=decision.again_s)
        if failure:
            raise ApiError(failure)

    async def _own_claims(self, workload: Workload, pods: list[Pod]) -> None:
        """Before Pods are deleted: claims may go with them."""
        if not workload.spec.get("volumeClaimTemplates"):
            return
        for pod in pods:
            is_condemned = ordinal_of(workload, pod) not in ordinals_of(workload)
            for name in claim_names(workload, pod.metadata.name):
                claim = self._claims.get(pod.metadata.namespace, name)
                if claim is None or claim.metadata.is_terminating:
                    continue
                owners = owner_changes(workload, pod, claim, is_condemned=is_condemned)
                if owners is not None:
                    metadata = {"resourceVersion": claim.metadata.resource_version, "ownerReferences": owners or None}
                    await self._client.merge(CLAIM.path(*claim.key), {"metadata": metadata})

    async def _create(self, workload: Workload, wanted: tuple[Create, ...], update: str) -> str:
        """A Pod waits for the end of a claim that is being deleted, and so do those that come after it."""
        pods: list[JsonObject] = []
        failure = ""
        for each in wanted:
            pod = f"{workload.metadata.name}-{each.ordinal}"
            failure = self._obstacle(workload, pod)
            if failure:
                break
            await self._create_claims(workload, each.ordinal)
            pods.append(self._pod(workload, each, update))
        return await self._creation.create(workload.metadata, pods) or failure

    def _obstacle(self, workload: Workload, pod: str) -> str:
        """Why the Pod cannot have its claims yet; empty if it can."""
        to_come = Meta(pod, workload.metadata.namespace)
        for name in claim_names(workload, pod):
            claim = self._claims.get(workload.metadata.namespace, name)
            if claim is None:
                continue
            if claim.metadata.is_terminating:
                error = f"pvc {name} is being deleted"
                message = OF_STATEFUL_SETS.failed.format(pod=pod, owner=workload.metadata.name, error=error)
                self._events.record(
                    STATEFUL_SET, workload.metadata, "FailedCreate", message, by=COMPONENT, type_="Warning"
                )
                return error
            if is_stale(claim, to_come, POD):
                return f"pvc {name} belongs to a former Pod"
        return ""

    async def _create_missing_claims(self, workload: Workload, pods: list[Pod]) -> None:
        """Of Pods that wait for a claim that was deleted meanwhile."""
        for pod in pods:
            if pod.status.phase != "Pending" or pod.metadata.is_terminating:
                continue
            claims = (self._claims.get(*pod.key[:1], name) for name in claim_names(workload, pod.metadata.name))
            if None in claims:
                await self._create_claims(workload, ordinal_of(workload, pod) or 0)

    async def _create_claims(self, workload: Workload, ordinal: int) -> None:
        for claim in claims_for(workload, ordinal):
            await self._create_claim(workload, claim, f"{workload.metadata.name}-{ordinal}")

    async def _create_claim(self, workload: Workload, claim: JsonObject, pod: str) -> None:
        try:
            await self._client.create(CLAIM.path(workload.metadata.namespace), claim)
        except AlreadyExistsError:
            return
        message = f"create Claim {claim['metadata']['name']} Pod {pod} in StatefulSet {workload.metadata.name} success"
        self._events.record(STATEFUL_SET, workload.metadata, "SuccessfulCreate", message, by=COMPONENT)

    def _pod(self, workload: Workload, wanted: Create, update: str) -> JsonObject:
        template = workload.spec.get("template") or {}
        if wanted.revision != update:
            template = self._template_of(workload, wanted.revision) or template
        labels, fields = pod_additions(workload, wanted.ordinal, template)
        pod = pod_from(
            template,
            kind=STATEFUL_SET,
            owner=workload.metadata,
            name=f"{workload.metadata.name}-{wanted.ordinal}",
            labels={**labels, HASH: wanted.revision},
        )
        return {**pod, "spec": {**pod["spec"], **fields}}

    def _template_of(self, workload: Workload, revision: str) -> JsonObject | None:
        for each in self._revisions.of(workload):
            if each.metadata.name == revision:
                template = (each.data.get("spec") or {}).get("template") or {}
                return {name: value for name, value in template.items() if name != "$patch"}
        return None
