"""Keeps the EndpointSlices and Endpoints of Services equal to the Pods that they select.

Endpoints of a Service without a selector are mirrored to EndpointSlices.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

import msgspec

from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import Json
from homeostat.operators.workloads.api import ENDPOINT_SLICE, ENDPOINTS, Meta, Pod, Workload
from homeostat.operators.workloads.reconciler import Key, Reconciler
from homeostat.operators.workloads.selection import possible_pods, possible_selectors
from homeostat.operators.workloads.services.decide import (
    MANAGED_BY,
    MANAGER,
    SERVICE_NAME,
    Decision,
    Slice,
    decide,
    has_slices,
)
from homeostat.operators.workloads.services.endpoints import StoredEndpoints, changes, endpoints_of
from homeostat.operators.workloads.services.mirroring import MIRROR, is_mirrored, mirror
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.cache.index import KeysOf
from homeostat.runtime.cache.informer import Informer
from homeostat.runtime.setup import Setup

_GATHER_S = 0.1


class StoredSlice(msgspec.Struct, frozen=True):
    metadata: Meta
    ports: Json = None
    endpoints: Json = None
    address_type: str = msgspec.field(default="IPv4", name="addressType")


def _service_keys(stored: StoredSlice, manager: str = MANAGER) -> tuple[Key, ...]:
    name = stored.metadata.labels.get(SERVICE_NAME)
    is_ours = stored.metadata.labels.get(MANAGED_BY) == manager
    return ((stored.metadata.namespace, name),) if name and is_ours else ()


def _mirror_keys(stored: StoredSlice) -> tuple[Key, ...]:
    return _service_keys(stored, MIRROR)


SLICE_INDEXES: Mapping[str, KeysOf[StoredSlice]] = {"service": _service_keys, "mirror": _mirror_keys}


class Services:
    def __init__(
        self,
        setup: Setup,
        services: Informer[Workload],
        slices: Informer[StoredSlice],
        endpoints: Informer[StoredEndpoints],
        pods: Informer[Pod],
    ) -> None:
        self._client = setup.client
        self._services, self._slices, self._pods = services.cache, slices.cache, pods.cache
        self._endpoints = endpoints.cache
        self._reconciler = Reconciler(setup, "services", self._reconcile)
        services.add_handler(self._note_service)
        slices.add_handler(self._note_slice)
        endpoints.add_handler(lambda change: self._reconciler.add((change.namespace, change.name), after_s=_GATHER_S))
        pods.add_handler(self._note_pod)

    def _note_service(self, change: Change[Workload]) -> None:
        self._reconciler.add((change.namespace, change.name))

    def _note_slice(self, change: Change[StoredSlice]) -> None:
        for each in (change.old, change.new):
            for key in () if each is None else (*_service_keys(each), *_mirror_keys(each)):
                self._reconciler.add(key, after_s=_GATHER_S)

    def _note_pod(self, change: Change[Pod]) -> None:
        old, new = change.old, change.new
        if old is not None and new is not None and _facts(old) == _facts(new):
            return
        found = [each for each in (old, new) if each is not None]
        for service in possible_selectors(self._services, change.namespace, *(each.metadata.labels for each in found)):
            if any(_selects(service, each) for each in found):
                self._reconciler.add(service.key, after_s=_GATHER_S)

    async def _reconcile(self, key: Key) -> None:
        service = self._services.get(*key)
        await self._mirror(service, key)
        if service is None or not has_slices(service):
            await self._forget(key, is_deleted=service is None)
            return
        pods = [each for each in possible_pods(service, self._pods) if _selects(service, each)]
        await self._write_endpoints(service, pods)
        await self._write_slices(key, decide(service, pods, self._stored("service", key)))

    async def _mirror(self, service: Workload | None, key: Key) -> None:
        found, stored = self._endpoints.get(*key), self._stored("mirror", key)
        if found is not None and is_mirrored(service, found):
            await self._write_slices(key, mirror(found, stored))
        elif stored:
            await self._write_slices(key, Decision(delete=tuple(each.name for each in stored)))

    def _stored(self, index: str, key: Key) -> list[Slice]:
        found = self._slices.indexed(index, key)
        return [Slice(each.metadata.name, each.ports, each.endpoints, each.address_type) for each in found]

    async def _write_slices(self, key: Key, decision: Decision) -> None:
        for new in decision.create:
            await self._client.create(ENDPOINT_SLICE.path(key[0]), new)
        for name, patch in decision.update.items():
            await self._client.merge(ENDPOINT_SLICE.path(key[0], name), patch)
        for name in decision.delete:
            try:
                await self._client.delete(ENDPOINT_SLICE.path(key[0], name))
            except NotFoundError:
                continue

    async def _write_endpoints(self, service: Workload, pods: list[Pod]) -> None:
        wanted, found = endpoints_of(service, pods), self._endpoints.get(*service.key)
        if service.metadata.is_terminating:
            return
        if found is None:
            await self._client.create(ENDPOINTS.path(service.metadata.namespace), wanted)
        elif patch := changes(found, wanted):
            await self._client.merge(ENDPOINTS.path(*service.key), patch)

    async def _forget(self, key: Key, *, is_deleted: bool) -> None:
        """Endpoints have no owner: whoever wrote them deletes them with the Service."""
        found = self._endpoints.get(*key)
        if is_deleted and found is not None and found.is_ours:
            with suppress(NotFoundError):
                await self._client.delete(ENDPOINTS.path(*key), {"preconditions": {"uid": found.metadata.uid}})


def _facts(pod: Pod) -> tuple[object, ...]:
    return pod.status.pod_ip, pod.is_ready, pod.is_finished, pod.metadata.is_terminating, pod.metadata.labels


def _selects(service: Workload, pod: Pod) -> bool:
    selector, labels = service.spec.get("selector") or {}, pod.metadata.labels
    return bool(selector) and all(labels.get(name) == value for name, value in selector.items())
