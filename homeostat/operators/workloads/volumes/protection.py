"""Keeps claims that Pods use, and volumes that are bound, until nobody uses them: by the finalizers of Kubernetes.

A claim counts as used by every Pod on a Node, also by one that has ended.
"""

from __future__ import annotations

from typing import Final

from homeostat.objects.errors import NotFoundError
from homeostat.objects.kind import Kind
from homeostat.operators.workloads.api import CLAIM, VOLUME, Meta, Pod, Workload
from homeostat.operators.workloads.family import BY_CLAIM
from homeostat.operators.workloads.reconciler import Key, Reconciler
from homeostat.operators.workloads.volumes.decide import volume_name
from homeostat.runtime.cache.cache import Cache, Change
from homeostat.runtime.cache.informer import Informer
from homeostat.runtime.setup import Setup

CLAIM_PROTECTION: Final = "kubernetes.io/pvc-protection"
VOLUME_PROTECTION: Final = "kubernetes.io/pv-protection"


def next_finalizers(meta: Meta, name: str, *, is_used: bool) -> list[str] | None:
    """The finalizers that an object is to have; None if they are right."""
    has_it = name in meta.finalizers
    if meta.is_terminating:
        return [each for each in meta.finalizers if each != name] if has_it and not is_used else None
    return None if has_it else [*meta.finalizers, name]


class Protection:
    def __init__(
        self, setup: Setup, claims: Informer[Workload], volumes: Informer[Workload], pods: Informer[Pod]
    ) -> None:
        self._client, self._claims, self._volumes, self._pods = setup.client, claims.cache, volumes.cache, pods.cache
        self._of_claims = Reconciler(setup, "protected claims", self._protect_claim, workers=4)
        self._of_volumes = Reconciler(setup, "protected volumes", self._protect_volume, workers=4)
        claims.add_handler(self._note_claim)
        volumes.add_handler(lambda change: self._of_volumes.add(("", change.name)))
        pods.add_handler(self._note_pod)

    def _note_claim(self, change: Change[Workload]) -> None:
        if change.new is not None:
            self._of_claims.add((change.namespace, change.name))
        elif change.old is not None:
            self._of_volumes.add(("", volume_name(change.old)))

    def _note_pod(self, change: Change[Pod]) -> None:
        if change.new is None and change.old is not None:
            for name in change.old.spec.claims:
                self._of_claims.add((change.namespace, name))

    async def _protect_claim(self, key: Key) -> None:
        is_used = any(each.spec.node_name for each in self._pods.indexed(BY_CLAIM, key))
        await self._keep(CLAIM, self._claims, key, CLAIM_PROTECTION, is_used=is_used)

    async def _protect_volume(self, key: Key) -> None:
        volume = self._volumes.get(*key)
        found = (volume.spec.get("claimRef") if volume is not None else None) or {}
        claim = self._claims.get(found.get("namespace") or "", found.get("name") or "")
        is_used = claim is not None and claim.metadata.uid == found.get("uid")
        await self._keep(VOLUME, self._volumes, key, VOLUME_PROTECTION, is_used=is_used)

    async def _keep(self, kind: Kind, cache: Cache[Workload], key: Key, name: str, *, is_used: bool) -> None:
        found = cache.get(*key)
        finalizers = next_finalizers(found.metadata, name, is_used=is_used) if found is not None else None
        if found is None or finalizers is None:
            return
        version = {"uid": found.metadata.uid, "resourceVersion": found.metadata.resource_version}
        try:
            await self._client.merge(kind.path(*key), {"metadata": {"finalizers": finalizers, **version}})
        except NotFoundError:
            return
