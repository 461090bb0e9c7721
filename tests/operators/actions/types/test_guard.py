"""What a plane refuses of resource types at once: those in use do not go, and schemas do not leave resources behind."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from homeostat.client.base import Client
from homeostat.objects.errors import ApiError, ConflictError, InvalidError
from homeostat.objects.json import JsonObject
from homeostat.operators import actions
from homeostat.testing.eventually import eventually
from homeostat.testing.plane import open_test_plane
from homeostat.testing.status import condition_of
from tests.absence import is_gone

TYPES = "/apis/homeostat.dev/v1alpha1/resourcetypes"
SHELVES = "/apis/resources.homeostat.dev/v1/namespaces/default/shelves"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SCHEMA: JsonObject = {"type": "object", "properties": {"size": {"type": "integer"}}}
NARROW: JsonObject = {"type": "object", "properties": {"size": {"type": "integer", "maximum": 5}}}


@pytest.fixture
async def client(data: Path) -> AsyncIterator[Client]:
    async with open_test_plane(data, actions, has_housekeeping=True, environment={}) as plane:
        await declare(plane.client)
        yield plane.client


async def declare(client: Client, called: str = "shelf", **spec: Any) -> None:
    given = {"name": "Shelf", "plural": "shelves", "schema": SCHEMA, **spec}
    body = {"apiVersion": "homeostat.dev/v1alpha1", "kind": "ResourceType", "metadata": {"name": called}, "spec": given}
    await client.create(TYPES, body)
    await eventually(
        lambda: client.get(f"{TYPES}/{called}"), lambda obj: condition_of(obj, "Ready").get("status") == "True"
    )


async def fill(client: Client, *sizes: int, path: str = SHELVES) -> None:
    for size in sizes:
        body = {"apiVersion": "resources.homeostat.dev/v1", "kind": "Shelf", "metadata": {"name": f"s{size}"}}
        await client.create(path, {**body, "spec": {"size": size}})


async def test_a_type_in_use_is_not_deleted_and_its_resources_are_named(client: Client) -> None:
    await fill(client, *range(1, 8))
    with pytest.raises(ConflictError, match=r"7 resources have this type: default/s1, .*default/s5 and 2 more"):
        await client.delete(f"{TYPES}/shelf")
    assert "deletionTimestamp" not in (await client.get(f"{TYPES}/shelf"))["metadata"]


async def test_a_type_goes_when_its_resources_are_gone(client: Client) -> None:
    await fill(client, 1)
    await client.delete(f"{SHELVES}/s1")
    await eventually(lambda: is_gone(client, f"{SHELVES}/s1"))
    await client.delete(f"{TYPES}/shelf")
    await eventually(lambda: is_gone(client, f"{TYPES}/shelf"))


async def test_a_schema_that_resources_do_not_match_is_refused_and_they_are_named(client: Client) -> None:
    await fill(client, 3, 9)
    with pytest.raises(
        InvalidError, match=r"spec\.schema: .*1 live resource does .* default/s9: spec\.size: .*isForced"
    ):
        await client.merge(f"{TYPES}/shelf", {"spec": {"schema": NARROW}})
    assert (await client.get(f"{TYPES}/shelf"))["spec"]["schema"] == SCHEMA
    await client.merge(f"{SHELVES}/s9", {"spec": {"size": 4}})
    await client.merge(f"{TYPES}/shelf", {"spec": {"schema": NARROW}})


async def test_a_schema_that_is_forced_is_taken(client: Client) -> None:
    await fill(client, 9)
    await client.merge(f"{TYPES}/shelf", {"spec": {"schema": NARROW, "isForced": True}})

    async def is_in_force() -> bool:
        found = await client.get(f"{DEFINITIONS}/shelves.resources.homeostat.dev")
        schema = found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        return bool(schema["properties"]["spec"]["properties"]["size"].get("maximum") == 5)

    await eventually(is_in_force)


@pytest.mark.parametrize(
    ("name", "spec", "error", "message"),
    [
        pytest.param(
            "rack", {"name": "Rack", "schema": {"type": "nope"}}, InvalidError, r"spec\.schema\.type", id="no"
        ),
        pytest.param("other", {}, ConflictError, '"shelf" has the same name and version', id="twice"),
    ],
)
async def test_a_type_that_cannot_count_is_refused(
    client: Client, name: str, spec: JsonObject, error: type[ApiError], message: str
) -> None:
    with pytest.raises(error, match=message):
        await declare(client, name, **spec)


@pytest.mark.parametrize(
    "change", [{"name": "Rack"}, {"version": "v2"}, {"plural": "racks"}, {"kind": "Rack"}], ids=str
)
async def test_what_resources_go_by_stays(client: Client, change: JsonObject) -> None:
    with pytest.raises(InvalidError, match="name, version, kind and plural are immutable"):
        await client.merge(f"{TYPES}/shelf", {"spec": change})


async def test_what_is_no_matter_of_resources_is_written_beside_them(client: Client) -> None:
    await fill(client, 9)
    await client.merge(f"{TYPES}/shelf", {"metadata": {"labels": {"team": "shop"}}})
    await client.merge(f"{TYPES}/shelf", {"spec": {"description": "A shelf."}})


async def test_one_of_two_versions_goes_though_there_are_resources(client: Client) -> None:
    await declare(client, "shelf-v2", version="v2")
    await fill(client, 1)
    await client.delete(f"{TYPES}/shelf")


async def test_a_version_whose_resources_do_not_match_those_that_stay_is_not_deleted(client: Client) -> None:
    await declare(client, "shelf-v1beta1", version="v1beta1", schema=NARROW)
    await fill(client, 9)
    with pytest.raises(ConflictError, match=r"1 live resource does not match the schema: default/s9: spec\.size"):
        await client.delete(f"{TYPES}/shelf")
    await client.delete(f"{TYPES}/shelf-v1beta1")


async def test_the_end_of_a_namespace_is_not_held_up(client: Client) -> None:
    await client.create("/api/v1/namespaces", {"metadata": {"name": "shop"}})
    await fill(client, 1, path=SHELVES.replace("default", "shop"))
    await client.delete("/api/v1/namespaces/shop")
    await eventually(lambda: is_gone(client, "/api/v1/namespaces/shop"))
    await client.delete(f"{TYPES}/shelf")


async def test_the_end_of_the_definition_of_types_is_not_refused(client: Client) -> None:
    await fill(client, 1)
    await client.delete(f"{DEFINITIONS}/resourcetypes.homeostat.dev")
    await eventually(
        lambda: client.get(f"{TYPES}/shelf"), lambda obj: condition_of(obj, "Reconciling").get("reason") == "InUse"
    )
