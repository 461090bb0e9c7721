"""Binds a PersistentVolumeClaim to the PersistentVolume that it names or that fits, or to one made for it, and deletes
or releases that when the claim is gone.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from homeostat.objects.errors import AlreadyExistsError, NotFoundError
from homeostat.operators.workloads.api import CLAIM, VOLUME, Pod, Workload
from homeostat.operators.workloads.events import Events
from homeostat.operators.workloads.family import BY_CLAIM
from homeostat.operators.workloads.reconciler import Key, Reconciler
from homeostat.operators.workloads.volumes.binding import Assign, Bind, Provision, StorageClass, Wait, fits, plan
from homeostat.operators.workloads.volumes.decide import (
    BOUND,
    BY_CONTROLLER,
    OFFERED,
    UNBOUND,
    claim_reference,
    claim_status,
    class_key,
    is_free_for,
    named_key,
    offers_more,
    reserved_key,
    volume_for,
    volume_name,
    waits,
)
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.cache.informer import Informer
from homeostat.runtime.setup import Setup

_COMPONENT: Final = "persistentvolume-controller"


class Volumes:
    def __init__(
        self,
        setup: Setup,
        claims: Informer[Workload],
        volumes: Informer[Workload],
        classes: Informer[StorageClass],
        pods: Informer[Pod],
        *,
        events: Events,
    ) -> None:
        self._client, self._claims, self._volumes, self._events = setup.client, claims.cache, volumes.cache, events
        self._classes, self._pods = classes.cache, pods.cache
        self._waiting: dict[str, str] = {}
        """By the uid of a claim: why it waits, as its last Event says."""
        self._reconciler = Reconciler(setup, "volumes", self._reconcile)
        self._unused = Reconciler(setup, "unused volumes", self._release, workers=2)
        claims.add_handler(self._note_claim)
        volumes.add_handler(self._note_volume)
        classes.add_handler(self._note_class)
        pods.add_handler(self._note_pod)

    def _note_claim(self, change: Change[Workload]) -> None:
        if change.new is not None:
            self._reconciler.add((change.namespace, change.name))
        elif change.old is not None:
            self._waiting.pop(change.old.metadata.uid, None)
            self._unused.add(("", volume_name(change.old)))

    def _note_volume(self, change: Change[Workload]) -> None:
        self._unused.add(("", change.name))
        if change.new is not None and offers_more(change.old, change.new):
            self._offer(change.new)

    def _note_class(self, change: Change[StorageClass]) -> None:
        for name in (change.name, ""):
            for each in self._claims.indexed(UNBOUND, class_key({"storageClassName": name})):
                self._reconciler.add(each.key)

    def _note_pod(self, change: Change[Pod]) -> None:
        """A Pod may be the first that uses a claim."""
        if change.old is None and change.new is not None:
            for name in change.new.spec.claims:
                self._reconciler.add((change.namespace, name))

    def _offer(self, volume: Workload) -> None:
        """Reconciles the waiting claims that may have the volume: its own, or those that name it or that it fits."""
        reserved = volume.spec.get("claimRef")
        if reserved:
            self._reconciler.add((reserved.get("namespace") or "", reserved.get("name") or ""))
            return
        named = self._claims.indexed(UNBOUND, named_key(volume.metadata.name))
        same = self._claims.indexed(UNBOUND, class_key(volume.spec))
        for each in (*named, *(claim for claim in same if fits(volume, claim))):
            self._reconciler.add(each.key)

    async def _reconcile(self, key: Key) -> None:
        claim = self._claims.get(*key)
        if claim is None or not waits(claim):
            return
        if claim.spec.get("volumeName"):
            # Until that volume exists and is free, the claim is Pending.
            volume = self._volumes.get("", volume_name(claim))
            if volume is not None and is_free_for(volume, claim):
                await self._bind(claim, volume)
            return
        is_used = any(not each.is_finished for each in self._pods.indexed(BY_CLAIM, key))
        offered = (reserved_key(*key), class_key(claim.spec))
        volumes = [volume for each in offered for volume in self._volumes.indexed(OFFERED, each)]
        match plan(claim, self._class_of(claim), volumes, is_used=is_used, classes=self._classes):
            case Bind(volume):
                await self._bind(claim, volume)
            case Provision(policy):
                await self._provision(claim, policy)
            case Assign(class_):
                version = {"resourceVersion": claim.metadata.resource_version}
                patch = {"metadata": version, "spec": {"storageClassName": class_}}
                await self._client.merge(CLAIM.path(*key), patch)
            case Wait(reason, message):
                self._wait(claim, reason, message)

    def _class_of(self, claim: Workload) -> StorageClass | None:
        name = claim.spec.get("storageClassName")
        return self._classes.get("", name) if name else None

    def _wait(self, claim: Workload, reason: str, message: str) -> None:
        if self._waiting.get(claim.metadata.uid) != reason:
            self._waiting[claim.metadata.uid] = reason
            self._events.record(CLAIM, claim.metadata, reason, message, by=_COMPONENT)

    async def _bind(self, claim: Workload, volume: Workload) -> None:
        name = volume.metadata.name
        if (volume.spec.get("claimRef") or {}).get("uid") != claim.metadata.uid:
            meta = {"uid": volume.metadata.uid, "resourceVersion": volume.metadata.resource_version}
            patch = {"metadata": meta, "spec": {"claimRef": claim_reference(claim)}}
            await self._client.merge(VOLUME.path("", name), patch)
        await self._client.merge(VOLUME.path("", name, "status"), {"status": {"phase": "Bound"}})
        patch = {"metadata": {"annotations": {BOUND: "yes"}}, "spec": {"volumeName": name}}
        await self._client.merge(CLAIM.path(*claim.key), patch)
        await self._client.merge(CLAIM.path(*claim.key, "status"), {"status": claim_status(volume.spec)})

    async def _provision(self, claim: Workload, reclaim_policy: str) -> None:
        name, new = volume_name(claim), volume_for(claim, reclaim_policy)
        with suppress(AlreadyExistsError):
            await self._client.create(VOLUME.path(""), new)
        await self._client.merge(VOLUME.path("", name, "status"), {"status": {"phase": "Bound"}})
        annotations = {BOUND: "yes", BY_CONTROLLER: "yes"}
        # The volume itself cannot name the class, since it is not one of a CSI driver.
        named = {"volumeAttributesClassName": claim.spec.get("volumeAttributesClassName")}
        status = claim_status(new["spec"] | named)
        patch = {"metadata": {"annotations": annotations}, "spec": {"volumeName": name}}
        await self._client.merge(CLAIM.path(*claim.key), patch)
        await self._client.merge(CLAIM.path(*claim.key, "status"), {"status": status})
        message = f"Successfully provisioned volume {name}"
        self._events.record(CLAIM, claim.metadata, "ProvisioningSucceeded", message, by=_COMPONENT)

    async def _release(self, key: Key) -> None:
        """Deletes or releases a volume whose claim is gone, by its policy; one without a claim is Available."""
        volume = self._volumes.get(*key)
        if volume is None or volume.metadata.is_terminating:
            return
        phase, claim_ref = volume.status.get("phase") or "Pending", volume.spec.get("claimRef") or {}
        if not claim_ref.get("uid"):
            if phase == "Pending":
                await self._client.merge(VOLUME.path(*key, "status"), {"status": {"phase": "Available"}})
            return
        claim = self._claims.get(claim_ref.get("namespace") or "", claim_ref.get("name") or "")
        if claim is not None and claim.metadata.uid == claim_ref["uid"]:
            return
        if volume.spec.get("persistentVolumeReclaimPolicy") == "Delete":
            with suppress(NotFoundError):
                await self._client.delete(VOLUME.path(*key), {"preconditions": {"uid": volume.metadata.uid}})
        elif phase != "Released":
            await self._client.merge(VOLUME.path(*key, "status"), {"status": {"phase": "Released"}})
