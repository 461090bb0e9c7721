"""Keeps the ReplicaSets of Deployments."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from homeostat.client.base import Client
from homeostat.objects.errors import AlreadyExistsError, ApiError, ConflictError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import DEPLOYMENT, REPLICA_SET
from homeostat.objects.selectors import selector_of, selects
from homeostat.objects.views.rollout import REVISION
from homeostat.operators.workloads.api import Pod, Workload
from homeostat.operators.workloads.creation import is_namespace_terminating
from homeostat.operators.workloads.deployments.decide import REFUSED, Step, decide, refused
from homeostat.operators.workloads.deployments.sets import new_set, replicas_of
from homeostat.operators.workloads.events import Events
from homeostat.operators.workloads.family import BY_OWNER, ORPHANS, check_owner, owner_router
from homeostat.operators.workloads.ownership import adoption, claim, release
from homeostat.operators.workloads.reconciler import Key, Reconciler
from homeostat.operators.workloads.selection import possible_selectors
from homeostat.operators.workloads.status import status_patch
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.cache.informer import Informer
from homeostat.runtime.setup import Setup

_COMPONENT: Final = "deployment-controller"


class Deployments:
    def __init__(
        self,
        setup: Setup,
        deployments: Informer[Workload],
        sets: Informer[Workload],
        pods: Informer[Pod],
        events: Events,
    ) -> None:
        self._client: Client = setup.client
        self._deployments, self._sets, self._pods = deployments.cache, sets.cache, pods.cache
        self._events = events
        self._reconciler = Reconciler(setup, "deployments", self._reconcile)
        deployments.add_handler(lambda change: self._reconciler.add((change.namespace, change.name)))
        sets.add_handler(owner_router(DEPLOYMENT, self._reconciler.soon, self._possible_owners))
        pods.add_handler(self._note_pod)

    def _possible_owners(self, replicas: Workload) -> list[Key]:
        labels = replicas.metadata.labels
        found = possible_selectors(self._deployments, replicas.metadata.namespace, labels)
        return [each.key for each in found if selects(each.spec.get("selector"), labels)]

    def _note_pod(self, change: Change[Pod]) -> None:
        """Recreate waits for the last Pod of old ReplicaSets."""
        if change.new is None and change.old is not None:
            owner = change.old.metadata.controller
            found = None if owner is None else self._sets.readable(change.namespace, owner.name)
            above = None if found is None else found.metadata.controller
            if above is not None:
                self._reconciler.soon((change.namespace, above.name))

    async def _reconcile(self, key: Key) -> None:
        deployment = self._deployments.get(*key)
        if deployment is None:
            return
        sets = await self._claim(deployment)
        new = new_set(deployment, sets)
        has_old_pods = any(
            not pod.is_finished
            for each in sets
            if each is not new
            for pod in self._pods.indexed(BY_OWNER, each.metadata.uid)
        )
        step = decide(deployment, sets, has_old_pods=has_old_pods, now=datetime.now(UTC))
        if step.acts:
            await self._act(deployment, step, {each.metadata.name: each for each in sets})
            self._reconciler.add(key)
        if step.again_s is not None:
            self._reconciler.add(key, after_s=step.again_s)
        if step.status is not None:
            await self._client.merge(DEPLOYMENT.path(*key, "status"), status_patch(step.status))

    async def _claim(self, deployment: Workload) -> list[Workload]:
        meta = deployment.metadata
        candidates = [*self._sets.indexed(BY_OWNER, meta.uid), *self._sets.indexed(ORPHANS, meta.namespace)]
        found = claim(meta, selector_of(deployment.spec.get("selector")), candidates)
        if found.adopted:
            await check_owner(self._client, DEPLOYMENT, meta)
        for each in found.adopted:
            await self._client.merge(REPLICA_SET.path(*each.key), adoption(DEPLOYMENT, meta, each.metadata))
        for each in found.released:
            await self._client.merge(REPLICA_SET.path(*each.key), release(meta, each.metadata))
        return found.owned

    async def _act(self, deployment: Workload, step: Step, sets: dict[str, Workload]) -> None:
        namespace = deployment.metadata.namespace
        if step.create is not None:
            await self._create(deployment, step.create)
        for name in {**step.scale, **step.annotate, **step.min_ready_s}:
            patch: JsonObject = {"spec": {}}
            if name in step.scale:
                patch["spec"]["replicas"] = step.scale[name]
            if name in step.min_ready_s:
                patch["spec"]["minReadySeconds"] = step.min_ready_s[name]
            if name in step.annotate:
                patch["metadata"] = {"annotations": step.annotate[name]}
            await self._client.merge(REPLICA_SET.path(namespace, name), patch)
            if name in step.scale:
                self._record_scaling(deployment, name, replicas_of(sets[name]), step.scale[name])
        for name in step.delete:
            try:
                await self._client.delete(REPLICA_SET.path(namespace, name))
            except NotFoundError:
                continue
        if step.revision:
            # By the status, for a write of the Deployment itself would count as a new generation.
            patch = {"metadata": {"annotations": {REVISION: step.revision}}}
            await self._client.merge(DEPLOYMENT.path(*deployment.key, "status"), patch)

    async def _create(self, deployment: Workload, new: JsonObject) -> None:
        path = REPLICA_SET.path(deployment.metadata.namespace)
        try:
            await self._client.create(path, new)
        except AlreadyExistsError:
            # Another template has this hash, or somebody else's ReplicaSet has the name: the next hash is another.
            count = (deployment.status.get("collisionCount") or 0) + 1
            patch = {"status": {"collisionCount": count}}
            await self._client.merge(DEPLOYMENT.path(*deployment.key, "status"), patch)
            raise ConflictError(f'ReplicaSet "{new["metadata"]["name"]}" exists already') from None
        except ApiError as error:
            if not is_namespace_terminating(error):
                await self._show_refusal(deployment, new["metadata"]["name"], error)
            raise
        self._record_scaling(deployment, new["metadata"]["name"], 0, new["spec"]["replicas"])

    async def _show_refusal(self, deployment: Workload, name: str, error: ApiError) -> None:
        message = f'Failed to create new replica set "{name}": {error}'
        conditions = refused(deployment, message, datetime.now(UTC))
        if conditions is not None:
            path = DEPLOYMENT.path(*deployment.key, "status")
            await self._client.merge(path, {"status": {"conditions": conditions}})
        self._events.record(DEPLOYMENT, deployment.metadata, REFUSED, message, by=_COMPONENT, type_="Warning")

    def _record_scaling(self, deployment: Workload, name: str, before: int, after: int) -> None:
        direction = "up" if after >= before else "down"
        message = f"Scaled {direction} replica set {name} from {before} to {after}"
        self._events.record(DEPLOYMENT, deployment.metadata, "ScalingReplicaSet", message, by=_COMPONENT)
