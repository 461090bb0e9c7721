"""Objects are stored at a new storage version, on a plane and on a real cluster."""

from __future__ import annotations

import uuid

import pytest

from homeostat.cli.objects.migrate_versions import migrate, migrations
from homeostat.objects.errors import ConflictError, InvalidError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import DEFINITION
from homeostat.testing.eventually import eventually
from tests.cluster.fixtures import Api
from tests.cluster.test_names import decided, definition


def _versions(*names: str, storage: str) -> list[JsonObject]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return [{"name": each, "served": True, "storage": each == storage, "schema": schema} for each in names]


async def test_a_version_can_be_removed_when_its_objects_are_migrated(api: Api) -> None:
    group = f"{uuid.uuid4().hex[:8]}.example.com"
    first = definition(group, "apples", "Apple")
    first["spec"]["versions"] = _versions("v1", "v2", storage="v1")
    name = first["metadata"]["name"]
    path, objects = DEFINITION.path("", name), f"/apis/{group}/v1/namespaces/{api.namespace}/apples"
    await api.client.create(DEFINITION.path(""), first)
    await decided(api, name)
    await eventually(lambda: _is_served(api, objects), bool)
    made = [
        await api.client.create(objects, {"apiVersion": f"{group}/v1", "kind": "Apple", "metadata": {"name": each}})
        for each in ("a", "b")
    ]
    assert migrations([await api.client.get(path)]) == []

    changed = await api.client.merge(path, {"spec": {"versions": _versions("v1", "v2", storage="v2")}})
    assert changed["status"]["storedVersions"] == ["v1", "v2"]
    (found,) = migrations([changed])
    assert (found.storage, found.others, found.kind.version) == ("v2", ("v1",), "v2")
    with pytest.raises(InvalidError):
        await api.client.merge(path, {"spec": {"versions": _versions("v2", storage="v2")}})
    # A real server learns of the new version a little later.
    await eventually(lambda: _version(api, f"{objects}/a"), lambda it: it != made[0]["metadata"]["resourceVersion"])
    assert await _migrated(api, name) == 2
    assert (await api.client.get(f"{objects}/b"))["metadata"]["resourceVersion"] != made[1]["metadata"][
        "resourceVersion"
    ]
    done = await api.client.merge(path, {"spec": {"versions": _versions("v2", storage="v2")}})
    assert done["status"]["storedVersions"] == ["v2"]


async def _is_served(api: Api, path: str) -> bool:
    return (await api.client.request("GET", path.rpartition("/namespaces")[0])) is not None


async def _version(api: Api, path: str) -> str:
    """The revision of an object after a write without a change."""
    return str((await api.client.merge(path, {}))["metadata"]["resourceVersion"])


async def _migrated(api: Api, name: str) -> int:
    """A controller of a real server may write the definition meanwhile."""

    async def attempt() -> int:
        (found,) = migrations([await api.client.get(DEFINITION.path("", name))])
        try:
            return await migrate(api.client, found)
        except ConflictError:
            return 0

    return await eventually(attempt, bool)
