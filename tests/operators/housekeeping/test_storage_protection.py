"""Deleted claims and volumes are released on a plane whose controllers of workloads run no more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from homeostat.client.base import Client
from homeostat.operators.housekeeping.metadata.feed import Feed
from homeostat.operators.housekeeping.storage_protection import StorageProtection
from homeostat.plane import Settings, open_plane
from homeostat.testing.eventually import eventually
from tests.operators.housekeeping.world import World

CLAIMS = "/api/v1/namespaces/{}/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
PODS = "/api/v1/namespaces/{}/pods"
_SPEC: dict[str, Any] = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with open_plane(Settings(data=tmp_path, port=0, operators=frozenset({"housekeeping"}))) as plane:
        feed = Feed(plane.client)
        protection = StorageProtection(plane.client, feed, after_s=0.0)
        running = [asyncio.create_task(each) for each in (protection.run(), feed.run())]
        yield plane.client
        for each in running:
            each.cancel()
        await asyncio.wait(running)


async def _claim(client: Client, namespace: str = "default") -> dict[str, Any]:
    metadata = {"name": "data", "finalizers": ["kubernetes.io/pvc-protection"]}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": _SPEC}
    return await client.create(CLAIMS.format(namespace), claim)


async def _pod(client: Client, node: str) -> None:
    spec = {
        "nodeName": node,
        "containers": [{"name": "app", "image": "app"}],
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "app"}, "spec": spec}
    await client.create(PODS.format("default"), pod)


async def test_a_namespace_with_a_protected_claim_is_deleted(client: Client) -> None:
    world = World(client)
    path = await world.furnished("shop")
    await _claim(client, "shop")
    await client.delete(path)
    await eventually(lambda: world.find(path), lambda found: found is None)
    assert await world.find(f"{CLAIMS.format('shop')}/data") is None


async def test_a_claim_stays_until_the_last_pod_on_a_node_that_uses_it_is_gone(client: Client) -> None:
    world, path = World(client), f"{CLAIMS.format('default')}/data"
    await _claim(client)
    await _pod(client, node="node-1")
    await client.delete(path)
    await asyncio.sleep(0.3)
    assert "deletionTimestamp" in (await client.get(path))["metadata"]

    await client.delete(f"{PODS.format('default')}/app", {"gracePeriodSeconds": 0})
    await eventually(lambda: world.find(path), lambda found: found is None)
    assert await world.find(path) is None


async def test_a_volume_stays_until_its_claim_is_gone(client: Client) -> None:
    world, claim = World(client), await _claim(client)
    reference = {"namespace": "default", "name": "data", "uid": claim["metadata"]["uid"]}
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "hostPath": {"path": "/data"},
        "claimRef": reference,
    }
    metadata = {"name": "disk", "finalizers": ["kubernetes.io/pv-protection"]}
    await client.create(VOLUMES, {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec})
    await client.delete(f"{VOLUMES}/disk")
    await asyncio.sleep(0.3)
    assert "deletionTimestamp" in (await client.get(f"{VOLUMES}/disk"))["metadata"]

    await client.delete(f"{CLAIMS.format('default')}/data")
    await eventually(lambda: world.find(f"{VOLUMES}/disk"), lambda found: found is None)
    assert await world.find(f"{VOLUMES}/disk") is None
