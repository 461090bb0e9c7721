"""What an operator guards is guarded on every replica, whichever of them leads."""

from __future__ import annotations

from uuid import uuid4

import pytest

from homeostat.client.base import Client
from homeostat.objects.errors import ConflictError, InvalidError
from homeostat.objects.json import JsonObject
from homeostat.testing.eventually import eventually
from homeostat.testing.status import condition_of

TYPES = "/apis/homeostat.dev/v1alpha1/resourcetypes"


def type_of(name: str, most: int) -> JsonObject:
    schema = {"type": "object", "properties": {"size": {"type": "integer", "maximum": most}}}
    return {
        "apiVersion": "homeostat.dev/v1alpha1",
        "kind": "ResourceType",
        "metadata": {"name": name},
        "spec": {"name": name, "schema": schema},
    }


async def test_every_replica_refuses_what_would_leave_resources_behind(clients: list[Client], namespace: str) -> None:
    name = f"t{uuid4().hex[:10]}"
    await eventually(lambda: clients[0].list(TYPES))
    await eventually(lambda: clients[0].create(TYPES, type_of(name, 100)))
    await eventually(
        lambda: clients[0].get(f"{TYPES}/{name}"), lambda obj: condition_of(obj, "Ready").get("status") == "True"
    )
    path = f"/apis/resources.homeostat.dev/v1/namespaces/{namespace}/{name}s"
    resource = {"apiVersion": "resources.homeostat.dev/v1", "kind": name.capitalize(), "metadata": {"name": "nine"}}
    await eventually(lambda: clients[1].create(path, {**resource, "spec": {"size": 9}}))
    for client in clients:
        with pytest.raises(ConflictError, match=f"1 resource has this type: {namespace}/nine"):
            await client.delete(f"{TYPES}/{name}")
        with pytest.raises(InvalidError, match=f"{namespace}/nine: spec.size"):
            await client.merge(f"{TYPES}/{name}", {"spec": type_of(name, 5)["spec"]})
    await clients[2].delete(f"{path}/nine")
    await eventually(lambda: clients[0].list(path), lambda listed: not listed[0])
    await clients[1].delete(f"{TYPES}/{name}")
