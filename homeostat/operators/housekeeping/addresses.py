"""The addresses of Services as objects: an IPAddress for each, and the ServiceCIDR that they are from.

On a cluster kube-apiserver writes them. Here the allocator of the server decides by the Services themselves, and these
objects follow, for clients that read them. An IPAddress that somebody else has created is left as it is.
"""

from __future__ import annotations

import asyncio
import ipaddress
from datetime import UTC, datetime
from typing import Final

import msgspec

from homeostat.client.base import Client
from homeostat.objects.errors import AlreadyExistsError, ConflictError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.time.timestamp import format_time
from homeostat.operators.housekeeping.metadata.feed import BACKOFF
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.cache.informer import Informers
from homeostat.runtime.control.queue import WorkQueue
from homeostat.runtime.control.workers import Workers
from homeostat.runtime.watch.source import Source

_GROUP: Final = "networking.k8s.io/v1"
_ADDRESSES: Final = f"/apis/{_GROUP}/ipaddresses"
_RANGES: Final = f"/apis/{_GROUP}/servicecidrs"
_DEFAULT: Final = "kubernetes"
_RANGE: Final = ""
"""The key of the default ServiceCIDR in the queue; all others are addresses."""
_FAMILY: Final = "ipaddress.kubernetes.io/ip-family"
_MANAGED_BY: Final = "ipaddress.kubernetes.io/managed-by"
_ALLOCATOR: Final = "ipallocator.k8s.io"
_BY_ADDRESS: Final = "address"


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    namespace: str = ""
    resource_version: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    deletion_timestamp: str | None = None


class _ServiceSpec(msgspec.Struct, frozen=True):
    cluster_ips: tuple[str, ...] = msgspec.field(default=(), name="clusterIPs")


class _Service(msgspec.Struct, frozen=True):
    metadata: _Meta
    spec: _ServiceSpec = _ServiceSpec()


class _Parent(msgspec.Struct, frozen=True):
    namespace: str = ""
    name: str = ""


class _AddressSpec(msgspec.Struct, frozen=True, rename="camel"):
    parent_ref: _Parent | None = None


class _Address(msgspec.Struct, frozen=True):
    metadata: _Meta
    spec: _AddressSpec = _AddressSpec()


class _Range(msgspec.Struct, frozen=True):
    metadata: _Meta


def _addresses_of(service: _Service) -> tuple[str, ...]:
    return tuple(each for each in service.spec.cluster_ips if each and each != "None")


class Addresses:
    def __init__(self, client: Client, cidr: str) -> None:
        self._client, self._cidr = client, cidr
        self._queue: WorkQueue[str] = WorkQueue(backoff=BACKOFF)
        self._workers = Workers(self._queue, self._reconcile, name="addresses", count=4)
        self._informers = Informers(client)
        services = self._informers.get(Source("/api/v1/services", skips_status=True), _Service)
        services.add_index(_BY_ADDRESS, _addresses_of)
        addresses = self._informers.get(Source(_ADDRESSES), _Address)
        self._services, self._addresses = services.cache, addresses.cache
        services.add_handler(self._note_service)
        addresses.add_handler(lambda change: self._queue.add(change.name))
        self._informers.get(Source(_RANGES), _Range).add_handler(self._note_range)
        self._queue.add(_RANGE)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._informers.run())
            # Before both lists are there, an address would look as if no Service had it.
            await self._informers.synced()
            tasks.create_task(self._workers.run())

    def _note_service(self, change: Change[_Service]) -> None:
        for service in (change.old, change.new):
            for address in _addresses_of(service) if service is not None else ():
                self._queue.add(address)

    def _note_range(self, change: Change[_Range]) -> None:
        if change.name == _DEFAULT:
            self._queue.add(_RANGE)

    async def _reconcile(self, address: str) -> None:
        if address == _RANGE:
            await self._ensure_range()
            return
        found = self._addresses.get("", address)
        wanted = next(iter(self._services.indexed(_BY_ADDRESS, address)), None)
        try:
            if found is None:
                if wanted is not None:
                    await self._client.create(_ADDRESSES, address_object(address, wanted.metadata))
            elif found.metadata.labels.get(_MANAGED_BY) == _ALLOCATOR and not _is_of(found, wanted):
                # The parent of an IPAddress cannot change; when this one is gone, the watch asks for the next.
                await self._client.delete(f"{_ADDRESSES}/{address}", {"preconditions": {"uid": found.metadata.uid}})
        except (AlreadyExistsError, NotFoundError, ConflictError):
            return  # The watch is behind; its event queues the address again.

    async def _ensure_range(self) -> None:
        try:
            found = await self._client.get(f"{_RANGES}/{_DEFAULT}")
        except NotFoundError:
            try:
                found = await self._client.create(_RANGES, range_object(self._cidr))
            except AlreadyExistsError:
                return
        is_ours = found["spec"].get("cidrs") == [self._cidr] and "deletionTimestamp" not in found["metadata"]
        if is_ours and not (found.get("status") or {}).get("conditions"):
            condition = {
                "type": "Ready",
                "status": "True",
                "reason": "",
                "message": "Kubernetes default Service CIDR is ready",
                "lastTransitionTime": format_time(datetime.now(UTC)),
            }
            await self._client.merge(f"{_RANGES}/{_DEFAULT}/status", {"status": {"conditions": [condition]}})


def _is_of(address: _Address, service: _Service | None) -> bool:
    parent = address.spec.parent_ref
    if service is None or parent is None:
        return False
    return (parent.namespace, parent.name) == (service.metadata.namespace, service.metadata.name)


def address_object(address: str, service: _Meta) -> JsonObject:
    """The IPAddress of an address of a Service."""
    labels = {_FAMILY: f"IPv{ipaddress.ip_address(address).version}", _MANAGED_BY: _ALLOCATOR}
    parent = {"group": "", "resource": "services", "namespace": service.namespace, "name": service.name}
    return {
        "apiVersion": _GROUP,
        "kind": "IPAddress",
        "metadata": {"name": address, "labels": labels},
        "spec": {"parentRef": parent},
    }


def range_object(cidr: str) -> JsonObject:
    """The ServiceCIDR of the range that the plane was started with."""
    return {
        "apiVersion": _GROUP,
        "kind": "ServiceCIDR",
        "metadata": {"name": _DEFAULT},
        "spec": {"cidrs": [cidr]},
    }
