"""Derive the table of the objects that a plane creates at its first start, `homeostat/server/data/first_objects.jsonl`.

    python -m tools.derive_first_objects

Each object is created by a request to an empty plane, and the table has it as that request stored it: so a start writes
all of them in one commit, without a request for each. The default roles and bindings come from `server/access`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from homeostat.client.base import Client
from homeostat.objects.flow_control import (
    COLLECTIONS,
    CONSUMER,
    FLOW_SCHEMAS,
    PRODUCER,
    dangling_condition,
    default_objects,
    level_of,
)
from homeostat.objects.json import JsonObject
from homeostat.plane.assembly import assemble
from homeostat.plane.credentials import pki_of
from homeostat.plane.settings import Settings
from homeostat.plane.storage import open_store
from homeostat.server.access.rbac.authorizer import GROUP
from homeostat.server.access.rbac.default_roles import default_roles
from homeostat.server.bootstrap import TABLE, TIME, UID, entry_of
from homeostat.store.base import Record, Scope

TARGET = Path(__file__).parent.parent / "homeostat" / "server" / TABLE
_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
_PRIORITY_CLASSES = {
    "system-node-critical": (
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    "system-cluster-critical": (
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
}
_PRIORITIES = """
v1 - 18000 1
v1 apps 17800 15
v1 events.k8s.io 17750 15
v1 authentication.k8s.io 17700 15
v1 authorization.k8s.io 17600 15
v1 autoscaling 17500 15
v2 autoscaling 17500 30
v1 batch 17400 15
v1 certificates.k8s.io 17300 15
v1 networking.k8s.io 17200 15
v1 policy 17100 15
v1 rbac.authorization.k8s.io 17000 15
v1 storage.k8s.io 16800 15
v1 admissionregistration.k8s.io 16700 15
v1beta1 admissionregistration.k8s.io 16700 12
v1 apiextensions.k8s.io 16700 15
v1 scheduling.k8s.io 16600 15
v1 coordination.k8s.io 16500 15
v1 node.k8s.io 16300 15
v1 discovery.k8s.io 16200 15
v1 resource.k8s.io 16200 21
v1 flowcontrol.apiserver.k8s.io 16100 21
"""
"""The built-in groups and versions, with the priorities by which Kubernetes orders them."""


def first_objects() -> Iterator[tuple[str, JsonObject]]:
    """The collection path and the object, for each object to create. Pure."""
    for name in _NAMESPACES:
        yield "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    for name, (value, description) in _PRIORITY_CLASSES.items():
        yield (
            "/apis/scheduling.k8s.io/v1/priorityclasses",
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": name},
                "value": value,
                "description": description,
            },
        )
    for service in built_in_services():
        yield "/apis/apiregistration.k8s.io/v1/apiservices", service
    for role in default_roles():
        namespace = role["metadata"].get("namespace", "")
        place = f"namespaces/{namespace}/" if namespace else ""
        yield f"/apis/{GROUP}/v1/{place}{role['kind'].lower()}s", role


def built_in_services() -> Iterator[JsonObject]:
    for line in _PRIORITIES.strip().splitlines():
        version, word, group_priority, version_priority = line.split()
        group = "" if word == "-" else word
        spec: JsonObject = {"group": group} if group else {}
        spec |= {
            "version": version,
            "groupPriorityMinimum": int(group_priority),
            "versionPriority": int(version_priority),
        }
        metadata = {
            "name": f"{version}.{group}",
            "labels": {"kube-aggregator.kubernetes.io/automanaged": "onstart"},
        }
        yield {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": metadata, "spec": spec}


async def derived_table() -> bytes:
    """What the table must be."""
    with TemporaryDirectory() as folder:
        settings = Settings(data=Path(folder), port=0, operators=frozenset())
        store = await open_store(settings)
        try:
            plane = await assemble(settings, pki_of(settings), store)
            moment = datetime.strptime(TIME, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
            plane.app.backend.clock, plane.app.backend.new_uid = moment.timestamp, lambda: UID
            for path, obj in first_objects():
                await plane.client.create(path, obj)
            await _create_flow_control(plane.client)
            records: list[Record] = [each for name in store.resources() for each in store.select(Scope(name))]
        finally:
            await store.close()
    return b"".join(map(entry_of, sorted(records, key=lambda each: each.revision)))


async def _create_flow_control(client: Client) -> None:
    """With the conditions that the operator `housekeeping` would set a moment later."""
    for obj in default_objects():
        await client.request("POST", COLLECTIONS[obj["kind"]], {"fieldManager": PRODUCER}, body=obj)
    for obj in default_objects():
        if obj["kind"] == "FlowSchema":
            condition = {**dangling_condition(level_of(obj), is_found=True), "lastTransitionTime": TIME}
            found = {**obj, "metadata": {"name": obj["metadata"]["name"]}, "status": {"conditions": [condition]}}
            del found["spec"]
            path = f"{FLOW_SCHEMAS}/{obj['metadata']['name']}/status"
            await client.apply(path, found, manager=CONSUMER, force=True)


if __name__ == "__main__":
    TARGET.write_bytes(asyncio.run(derived_table()))
