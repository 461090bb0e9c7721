"""Objects that follow others: tokens in Secrets, addresses of Services, the mandatory objects of flow control."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from homeostat.objects.errors import InvalidError
from homeostat.objects.flow_control import AUTO_UPDATE, FLOW_SCHEMAS, PRIORITY_LEVELS
from homeostat.objects.json import encode
from homeostat.operators.housekeeping.flow_control import OUTLINES
from homeostat.operators.housekeeping.metadata.feed import Feed
from homeostat.operators.housekeeping.quotas import Quotas
from homeostat.plane import Plane, Settings, open_plane
from homeostat.testing.eventually import eventually
from tests.operators.housekeeping.world import World

DEFAULT = "/api/v1/namespaces/default"
ADDRESSES = "/apis/networking.k8s.io/v1/ipaddresses"
RANGE = "/apis/networking.k8s.io/v1/servicecidrs/kubernetes"
TYPE = "kubernetes.io/service-account-token"
LAST_USED = "kubernetes.io/legacy-token-last-used"
TRACKING = "kube-apiserver-legacy-service-account-token-tracking"


@pytest.fixture
async def plane(tmp_path: Path) -> AsyncIterator[Plane]:
    async with open_plane(Settings(data=tmp_path, port=0, operators=frozenset({"housekeeping"}))) as plane:
        yield plane


def token_secret(name: str, account: str) -> dict[str, Any]:
    metadata = {"name": name, "annotations": {"kubernetes.io/service-account.name": account}}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": TYPE}


async def test_a_token_is_in_its_secret_as_long_as_its_service_account_exists(plane: Plane) -> None:
    client, world = plane.client, World(plane.client)
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}
    made = await client.create(f"{DEFAULT}/serviceaccounts", account)
    await client.create(f"{DEFAULT}/secrets", token_secret("robot", "robot"))
    strays = {"stray": "nobody", "path": "robot/../robot", "query": "robot?x=%zz#", "odd": "Ro bot\n"}
    for name, named in strays.items():
        await client.create(f"{DEFAULT}/secrets", token_secret(name, named))

    secret = await eventually(
        lambda: client.get(f"{DEFAULT}/secrets/robot"), lambda each: "token" in (each.get("data") or {})
    )
    assert secret["metadata"]["annotations"]["kubernetes.io/service-account.uid"] == made["metadata"]["uid"]
    assert b64decode(secret["data"]["namespace"]) == b"default"
    assert b64decode(secret["data"]["ca.crt"]).startswith(b"-----BEGIN CERTIFICATE")
    spec = {"token": b64decode(secret["data"]["token"]).decode()}
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec}
    found = await client.create("/apis/authentication.k8s.io/v1/tokenreviews", review)
    assert found["status"]["user"]["username"] == "system:serviceaccount:default:robot"

    used = await eventually(
        lambda: client.get(f"{DEFAULT}/secrets/robot"), lambda each: LAST_USED in (each["metadata"].get("labels") or {})
    )
    tracking = await client.get(f"/api/v1/namespaces/kube-system/configmaps/{TRACKING}")
    assert tracking["data"] == {"since": used["metadata"]["labels"][LAST_USED]}
    await client.create("/apis/authentication.k8s.io/v1/tokenreviews", review)
    assert not plane.tracking.is_due  # once a day

    await client.delete(f"{DEFAULT}/serviceaccounts/robot")
    await eventually(lambda: world.find(f"{DEFAULT}/secrets/robot"), lambda each: each is None)
    for name in strays:
        await eventually(partial(world.find, f"{DEFAULT}/secrets/{name}"), lambda each: each is None)


async def test_an_address_of_a_service_is_an_object_as_long_as_the_service_has_it(plane: Plane) -> None:
    client, world = plane.client, World(plane.client)
    reserved = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "IPAddress",
        "metadata": {"name": "10.0.9.9"},
        "spec": {"parentRef": {"resource": "pods", "namespace": "default", "name": "own"}},
    }
    await client.create(ADDRESSES, reserved)
    spec = {"ports": [{"port": 80}], "clusterIP": "10.0.7.7"}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": spec}
    await client.create(f"{DEFAULT}/services", service)

    address = await eventually(lambda: world.find(f"{ADDRESSES}/10.0.7.7"), lambda each: each is not None)
    assert address is not None
    parent = {"group": "", "resource": "services", "namespace": "default", "name": "web"}
    assert address["spec"]["parentRef"] in (parent, {key: value for key, value in parent.items() if value})
    assert address["metadata"]["labels"] == {
        "ipaddress.kubernetes.io/ip-family": "IPv4",
        "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
    }
    taken = {**service, "metadata": {"name": "late"}, "spec": {**spec, "clusterIP": "10.0.9.9"}}
    with pytest.raises(InvalidError, match="already allocated"):
        await client.create(f"{DEFAULT}/services", taken)

    await client.delete(f"{DEFAULT}/services/web")
    await eventually(lambda: world.find(f"{ADDRESSES}/10.0.7.7"), lambda each: each is None)
    assert await world.find(f"{ADDRESSES}/10.0.9.9") is not None


async def test_the_limits_in_the_status_of_a_quota_are_restored(plane: Plane) -> None:
    client, path = plane.client, f"{DEFAULT}/resourcequotas/few"
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"}, "spec": {"hard": {"pods": "3"}}}
    await client.create(f"{DEFAULT}/resourcequotas", quota)
    await client.merge(f"{path}/status", {"status": {"hard": {"pods": "9", "cpu": "1"}}})
    feed = Feed(client)
    async with asyncio.TaskGroup() as tasks:
        work = [tasks.create_task(each.run()) for each in (Quotas(client, feed, after_s=0.0), feed)]
        await eventually(lambda: client.get(path), lambda each: each["status"]["hard"] == {"pods": "3"})
        for each in work:
            each.cancel()


async def test_the_range_of_services_and_default_objects_are_restored(plane: Plane) -> None:
    client, world = plane.client, World(plane.client)

    async def conditions() -> list[Any]:
        return ((await world.find(RANGE) or {}).get("status") or {}).get("conditions") or []

    assert [each["status"] for each in await eventually(conditions, bool)] == ["True"]
    first = await client.get(RANGE)
    assert first["spec"]["cidrs"] == ["10.0.0.0/16"]
    await client.delete(RANGE)
    await eventually(
        lambda: world.find(RANGE), lambda each: each is not None and each["metadata"]["uid"] != first["metadata"]["uid"]
    )

    exempt = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations/exempt"
    own = {"nominalConcurrencyShares": 7, "lendablePercent": 50}
    await client.merge(exempt, {"spec": {"exempt": own}})
    kept = await client.get(exempt)
    path = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations/global-default"
    wanted = (await client.get(path))["spec"]
    await client.merge(path, {"spec": {"limited": {"nominalConcurrencyShares": 77}}})
    await eventually(lambda: client.get(path), lambda each: each["spec"] == wanted)
    # It comes before this one, so it was compared as well.
    assert await client.get(exempt) == kept
    assert kept["spec"]["exempt"] == own


async def test_default_objects_of_flow_control_keep_what_users_protect(plane: Plane) -> None:
    client, own = (
        plane.client,
        {"metadata": {"annotations": {AUTO_UPDATE: "false"}}, "spec": {"matchingPrecedence": 77}},
    )
    await client.merge(f"{FLOW_SCHEMAS}/probes", own)
    await client.merge(f"{FLOW_SCHEMAS}/service-accounts", {"spec": {"matchingPrecedence": 78}})
    stray = {
        **await client.get(f"{FLOW_SCHEMAS}/probes"),
        "metadata": {"name": "stray", "annotations": {AUTO_UPDATE: "true"}},
    }
    await client.create(FLOW_SCHEMAS, stray)
    await eventually(lambda: World(client).find(f"{FLOW_SCHEMAS}/stray"), lambda each: each is None)
    restored = f"{FLOW_SCHEMAS}/service-accounts"
    await eventually(lambda: client.get(restored), lambda each: each["spec"]["matchingPrecedence"] == 9000)
    assert (await client.get(f"{FLOW_SCHEMAS}/probes"))["spec"]["matchingPrecedence"] == 77


async def test_a_flow_schema_says_whether_its_level_exists(plane: Plane) -> None:
    client, path = plane.client, f"{FLOW_SCHEMAS}/mine"
    rule = {
        "subjects": [{"kind": "User", "user": {"name": "jane"}}],
        "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/own"]}],
    }
    spec = {"priorityLevelConfiguration": {"name": "mine"}, "matchingPrecedence": 500, "rules": [rule]}
    await client.create(FLOW_SCHEMAS, {"metadata": {"name": "mine"}, "spec": spec})

    async def dangling() -> list[tuple[str, str]]:
        conditions = (await client.get(path)).get("status", {}).get("conditions", [])
        return [(each["status"], each["reason"]) for each in conditions if each["type"] == "Dangling"]

    await eventually(dangling, lambda each: each == [("True", "NotFound")])
    limited = {"nominalConcurrencyShares": 1, "limitResponse": {"type": "Reject"}}
    level = {"metadata": {"name": "mine"}, "spec": {"type": "Limited", "limited": limited}}
    await client.create(PRIORITY_LEVELS, level)
    await eventually(dangling, lambda each: each == [("False", "Found")])
    await client.delete(f"{PRIORITY_LEVELS}/mine")
    await eventually(dangling, lambda each: each == [("True", "NotFound")])


def test_a_flow_schema_is_read_without_its_rules() -> None:
    spec = {"priorityLevelConfiguration": {"name": "exempt"}, "rules": [{"subjects": []}] * 1000}
    metadata = {"name": "own", "uid": "u", "annotations": {AUTO_UPDATE: "true"}, "labels": {"a": "b"}}
    items = OUTLINES.decode(
        encode({"metadata": {"continue": "next"}, "items": [{"metadata": metadata, "spec": spec}]})
    ).items
    assert items is not None
    (outline,) = items
    assert msgspec.to_builtins(outline) == {
        "metadata": {"name": "own", "uid": "u", "annotations": {AUTO_UPDATE: "true"}},
        "spec": {"priorityLevelConfiguration": {"name": "exempt"}},
        "status": None,
    }
