"""The Service `default/kubernetes`, its Endpoints and EndpointSlice, by which clients in a cluster find the API server.

They are written once the server listens, because the port may be one that was free. Replicas write them only with an
`--address`, which is the same for all. A webhook may refuse them for a while, so the plane waits only some seconds.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from homeostat.client.base import Client
from homeostat.objects.errors import ApiError, NotFoundError
from homeostat.objects.json import JsonObject, decode_stored
from homeostat.plane.plane import Plane
from homeostat.server.services.ranges import AddressRange
from homeostat.store.base import Key

log = logging.getLogger(__name__)

_NAME: Final = "kubernetes"
_MANAGER: Final = "homeostat"
_RETRY_S: Final = 30.0
_HTTPS: Final = 443
_SLICES: Final = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
_ENDPOINTS: Final = "/api/v1/namespaces/default/endpoints"
_NAMES: Final = "FQDN"
"""The addressType of host names, which Endpoints cannot have."""


async def publish_own_service(plane: Plane) -> None:
    """Until all are written."""
    if plane.settings.is_shared and not plane.settings.address:
        return
    while True:
        try:
            objects = service_objects(plane.url, _address(plane))
            await _delete_outdated(plane.client, dict(objects))
            await asyncio.gather(
                *(plane.client.apply(f"{path}/{_NAME}", obj, manager=_MANAGER, force=True) for path, obj in objects)
            )
            return
        except ApiError as error:
            extra = {"reason": str(error), "retry_s": _RETRY_S}
            log.warning("failed to write the Service of the API server; retrying", extra=extra)
            await asyncio.sleep(_RETRY_S)


async def _delete_outdated(client: Client, objects: Mapping[str, JsonObject]) -> None:
    """The slice of another addressType, which cannot be changed, and Endpoints of an address that is now a name."""
    slices = await _find(client, _SLICES)
    if slices is not None and slices["addressType"] != objects[_SLICES]["addressType"]:
        await client.delete(f"{_SLICES}/{_NAME}")
    if _ENDPOINTS not in objects and await _find(client, _ENDPOINTS) is not None:
        await client.delete(f"{_ENDPOINTS}/{_NAME}")


async def _find(client: Client, path: str) -> JsonObject | None:
    try:
        return await client.get(f"{path}/{_NAME}")
    except NotFoundError:
        return None


def _address(plane: Plane) -> str:
    """What the Service has, since that cannot change; otherwise the first address of the range."""
    record = plane.store.get(Key("services", "default", _NAME))
    stored = {} if record is None else decode_stored(record.value)["spec"]
    return str(stored.get("clusterIP") or AddressRange(plane.settings.service_cidr).first)


def service_objects(url: str, address: str) -> list[tuple[str, JsonObject]]:
    """The collection path and the object, for a server at this address. Pure."""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or _HTTPS
    service: JsonObject = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": _NAME, "labels": {"component": "apiserver", "provider": _NAME}},
        "spec": {
            "clusterIP": address,
            "ports": [{"name": "https", "port": _HTTPS, "protocol": "TCP", "targetPort": port}],
        },
    }
    points: JsonObject = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": _NAME, "labels": {"kubernetes.io/service-name": _NAME}},
        "addressType": _address_type(host),
        "endpoints": [{"addresses": [host], "conditions": {"ready": True}}],
        "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
    }
    found = [
        ("/api/v1/namespaces/default/services", service),
        (_SLICES, points),
    ]
    if points["addressType"] != _NAMES:
        found.append((_ENDPOINTS, _endpoints(host, port)))
    return found


def _endpoints(address: str, port: int) -> JsonObject:
    """For clients that know no EndpointSlices; no controller copies them into a slice, for there is one already."""
    return {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {"name": _NAME, "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}},
        "subsets": [
            {"addresses": [{"ip": address}], "ports": [{"name": "https", "port": port, "protocol": "TCP"}]},
        ],
    }


def _address_type(host: str) -> str:
    try:
        return f"IPv{ipaddress.ip_address(host).version}"
    except ValueError:
        return _NAMES
