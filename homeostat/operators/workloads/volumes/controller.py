"""Binds every PersistentVolumeClaim to a PersistentVolume made for it, and deletes that with the claim."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from homeostat.objects.errors import AlreadyExistsError, NotFoundError
from homeostat.operators.workloads.api import CLAIM, VOLUME, Workload
from homeostat.operators.workloads.events import Events
from homeostat.operators.workloads.reconciler import Key, Reconciler
from homeostat.operators.workloads.volumes.decide import (
    BOUND,
    BY_CONTROLLER,
    PROVISIONER,
    claim_status,
    volume_for,
    volume_name,
    waits,
)
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.cache.informer import Informer
from homeostat.runtime.setup import Setup

_COMPONENT: Final = "persistentvolume-controller"


class Volumes:
    def __init__(self, setup: Setup, claims: Informer[Workload], volumes: Informer[Workload], events: Events) -> None:
        self._client, self._claims, self._volumes, self._events = setup.client, claims.cache, volumes.cache, events
        self._reconciler = Reconciler(setup, "volumes", self._reconcile)
        self._unused = Reconciler(setup, "unused volumes", self._release, workers=2)
        claims.add_handler(self._note_claim)
        volumes.add_handler(lambda change: self._unused.add(("", change.name)))

    def _note_claim(self, change: Change[Workload]) -> None:
        if change.new is not None:
            self._reconciler.add((change.namespace, change.name))
        elif change.old is not None:
            self._unused.add(("", volume_name(change.old)))

    async def _reconcile(self, key: Key) -> None:
        claim = self._claims.get(*key)
        if claim is None or not waits(claim):
            return
        name = volume_name(claim)
        if not claim.spec.get("volumeName") or self._volumes.get("", name) is None:
            with suppress(AlreadyExistsError):
                await self._client.create(VOLUME.path(""), volume_for(claim))
            await self._client.merge(VOLUME.path("", name, "status"), {"status": {"phase": "Bound"}})
        if not claim.spec.get("volumeName"):
            annotations = {BOUND: "yes", BY_CONTROLLER: "yes"}
            patch = {"metadata": {"annotations": annotations}, "spec": {"volumeName": name}}
            await self._client.merge(CLAIM.path(*key), patch)
        await self._client.merge(CLAIM.path(*key, "status"), {"status": claim_status(claim)})
        message = f"Successfully provisioned volume {name}"
        self._events.record(CLAIM, claim.metadata, "ProvisioningSucceeded", message, by=_COMPONENT)

    async def _release(self, key: Key) -> None:
        """Deletes a volume of ours whose claim is gone."""
        volume = self._volumes.get(*key)
        if volume is None or volume.metadata.annotations.get("pv.kubernetes.io/provisioned-by") != PROVISIONER:
            return
        claim_ref = volume.spec.get("claimRef") or {}
        claim = self._claims.readable(claim_ref.get("namespace") or "", claim_ref.get("name") or "")
        if claim is None or claim.metadata.uid != claim_ref.get("uid"):
            try:
                await self._client.delete(VOLUME.path(*key))
            except NotFoundError:
                return
