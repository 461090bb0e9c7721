"""Two versions of one type: each resource is kept, told of and held to by the version that it was declared by."""

from __future__ import annotations

import pytest

from homeostat.client.base import Client
from homeostat.objects.errors import NotFoundError
from homeostat.testing.eventually import eventually
from tests.web.actions.calling import NOTE_TYPE, Api, note
from tests.web.actions.shelf import World


@pytest.fixture
async def two(api: Api, shelf: World) -> Api:
    """The versions v1 and v2, and a resource declared by v1."""
    for version in ("v1", "v2"):
        kept = {"action_plugin": "shelf", "plugin_config": {"prefix": version}}
        await api.made("/resource-types", {**NOTE_TYPE, "version": version, **kept})
        if version == "v1":
            await api.made("/resources", note("one", action_plugin=None))
            await api.becomes(1, "ready")
    return api


async def test_a_resource_is_kept_as_its_own_version_says(two: Api, shelf: World) -> None:
    await two.made("/resources", note("two", action_plugin=None, resource_type_version="v2"))
    await two.becomes(2, "ready")
    await two.post("/resources/1/reconcile")
    history = await eventually(lambda: two.get("/resources/1/history"), lambda told: len(told.body) == 2)
    assert shelf.prefixes == {"one": "v1", "two": "v2"}
    assert (shelf.applies, [each["resource_type_version"] for each in history.body]) == (2, ["v1", "v1"])


async def test_a_version_that_resources_were_declared_by_is_not_deleted(two: Api) -> None:
    refused = await two.call("DELETE", "/resource-types/1")
    assert (refused.status, "one" in refused.body["detail"]) == (409, True)
    assert (await two.call("DELETE", "/resource-types/2")).status == 204


async def test_a_resource_whose_version_went_all_the_same_is_of_the_one_that_is_left(two: Api, client: Client) -> None:
    path = "/apis/homeostat.dev/v1alpha1/resourcetypes/note-v1"
    await client.delete(path)

    async def is_gone() -> bool:
        try:
            await client.get(path)
        except NotFoundError:
            return True
        return False

    await eventually(is_gone, within_s=30)
    told = await eventually(lambda: two.get("/resources/1"), lambda told: told.status == 200)
    assert told.body["resource_type_version"] == "v2"
    assert [each["name"] for each in (await two.get("/resources")).body] == ["one"]
