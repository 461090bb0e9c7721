"""Resource types over HTTP: in force when they are answered for, refused where they cannot be."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from homeostat.client.base import Client
from homeostat.operators.actions.api import RESOURCE_TYPE
from homeostat.testing.eventually import eventually
from tests.web.actions.calling import NOTE_TYPE, Api, note

TYPES = RESOURCE_TYPE.kind.path("")


def named(name: str, version: str = "v1", **more: Any) -> dict[str, Any]:
    return {"name": name, "version": version, "schema": {}, **more}


async def test_a_type_is_in_force_when_it_is_answered_for(api: Api, client: Client) -> None:
    made = await api.post("/resource-types", {**NOTE_TYPE, "metadata": {"owner": "a"}})
    assert (made.status, made.headers["Location"]) == (201, "/api/v1/resource-types/1")
    body = made.body
    assert (body["id"], body["name"], body["version"], body["status"]) == (1, "Note", "v1", "active")
    assert (body["schema"], body["metadata"]) == (NOTE_TYPE["schema"], {"owner": "a"})
    assert body["description"] == "A note on the shelf"
    assert body["created_at"].endswith("Z")
    assert body["updated_at"].endswith("Z")
    assert (await api.post("/resources", note("one"))).status == 201
    assert (await api.get("/resource-types/1")).body == (await api.get("/resource-types/Note/v1")).body
    assert (await client.get(f"{TYPES}/note-v1"))["spec"]["name"] == "Note"


WRONG: list[tuple[Any, str]] = [
    ({"type": "nope"}, "Invalid schema: schema.type"),
    ({"type": "array"}, "Invalid schema: schema.type"),
    ({"properties": {"a": {"type": "strin"}}}, "Invalid schema: schema.properties.a.type"),
    ({"properties": {"a": {"pattern": "("}}}, "Invalid schema"),
    ([], "Expected"),
    (None, "Expected"),
    ({"x": "y" * (1 << 20)}, "larger than"),
]


async def test_an_invalid_schema_is_reported_as_one(api: Api) -> None:
    for schema, told in WRONG:
        answer = await api.post("/resource-types", {"name": "Note", "version": "v1", "schema": schema})
        assert answer.status == 422
        assert any(told in each["msg"] for each in answer.body["detail"]), answer.body
    assert (await api.get("/resource-types")).body == []


async def test_what_cannot_be_a_name_is_refused(api: Api) -> None:
    for body in (named(""), named("Note", ""), named("9lives!"), named("x" * 64), {"name": "Note"}):
        assert (await api.post("/resource-types", body)).status == 422, body


async def test_a_schema_that_takes_all_is_a_schema(api: Api) -> None:
    await api.made("/resource-types", named("Anything"))
    made = await api.made("/resources", note("one", resource_type_name="Anything", spec={"any": [1, {"x": None}]}))
    assert made["spec"] == {"any": [1, {"x": None}]}


async def test_a_name_and_version_are_there_once(api: Api) -> None:
    await api.made("/resource-types", NOTE_TYPE)
    for body in (NOTE_TYPE, named("Note", "V1")):
        answer = await api.post("/resource-types", body)
        assert (answer.status, "already exists" in answer.body["detail"]) == (409, True), body
    answers = await asyncio.gather(*(api.post("/resource-types", named("Page")) for _ in range(4)))
    assert sorted(each.status for each in answers) == [201, 409, 409, 409]


async def test_versions_of_a_type_stand_beside_each_other(api: Api) -> None:
    await api.made("/resource-types", NOTE_TYPE)
    await api.made("/resources", note("one"))
    titled = {"type": "object", "required": ["text"], "properties": {"title": {"type": "string"}}}
    await api.made("/resource-types", {**NOTE_TYPE, "version": "v2", "schema": titled})
    wrong = {"text": "t", "title": 1}
    assert (await api.post("/resources", note("two", resource_type_version="v2", spec=wrong))).status == 400
    second = note("two", resource_type_version="v2", spec={"text": "t", "title": "t"})
    assert (await api.made("/resources", second))["resource_type_version"] == "v2"
    first = (await api.get("/resources/1")).body
    assert (first["resource_type_version"], first["spec"]["text"]) == ("v1", "hello")
    assert (await api.put("/resources/1", {"spec": wrong})).body["spec"]["title"] == 1
    assert (await api.put("/resources/2", {"spec": wrong})).status == 400
    assert (await api.get("/resources/by-name/Note/v2/one")).status == 409
    assert [each["id"] for each in (await api.get("/resources?resource_type_version=v1")).body] == [1]


async def test_a_type_in_use_is_not_deleted_and_an_unknown_one_is_not_found(api: Api) -> None:
    await api.made("/resource-types", NOTE_TYPE)
    await api.made("/resources", note("one"))
    await api.becomes(1, "ready")
    answer = await api.delete("/resource-types/1")
    assert (answer.status, "default/one" in answer.body["detail"]) == (409, True)
    assert (await api.delete("/resource-types/7")).status == 404
    await api.delete("/resources/1")
    await api.is_gone(1)
    assert (await api.delete("/resource-types/1")).status == 204
    assert (await api.get("/resource-types/1")).status == 404
    assert (await api.made("/resource-types", NOTE_TYPE))["id"] == 2
    await api.made("/resources", note("one"))


async def test_a_change_replaces_what_is_given(api: Api, client: Client) -> None:
    await api.made("/resource-types", NOTE_TYPE)
    changed = await api.put("/resource-types/1", {"description": "new", "status": "deprecated", "metadata": {"a": 1}})
    assert changed.status == 200
    assert (changed.body["description"], changed.body["status"]) == ("new", "deprecated")
    assert (changed.body["metadata"], changed.body["schema"]) == ({"a": 1}, NOTE_TYPE["schema"])
    assert (await client.get(f"{TYPES}/note-v1"))["spec"]["isDeprecated"] is True
    beta = (await api.put("/resource-types/1", {"status": "beta"})).body
    assert beta["status"] == "beta"
    assert (await api.put("/resource-types/1", {"schema": {"type": "nope"}})).status == 422
    assert (await api.put("/resource-types/9", {"status": "beta"})).status == 404
    assert [each["id"] for each in (await api.get("/resource-types?status=beta")).body] == [1]


async def test_a_schema_that_live_resources_do_not_match_is_refused_unless_forced(api: Api) -> None:
    await api.made("/resource-types", NOTE_TYPE)
    await api.made("/resources", note("one"))
    wanted = {"schema": {"type": "object", "required": ["title"]}}
    refused = await api.put("/resource-types/1", wanted)
    assert (refused.status, "default/one" in str(refused.body["detail"])) == (422, True)
    assert (await api.put("/resource-types/1?force=true", wanted)).status == 200
    assert (await api.post("/resources", note("two"))).status == 400


async def test_who_has_seen_another_type_is_refused(api: Api) -> None:
    await api.made("/resource-types", NOTE_TYPE)
    seen = await api.get("/resource-types/1")
    assert (await api.put("/resource-types/1", {"description": "b"}, If_Match=seen.etag)).status == 200
    assert (await api.put("/resource-types/1", {"description": "c"}, If_Match=seen.etag)).status == 412
    assert (await api.delete("/resource-types/1", If_Match=seen.etag)).status == 412


async def test_types_are_listed_by_name_and_version_and_paged(api: Api) -> None:
    for name, version in (("Page", "v2"), ("Note", "v1"), ("Page", "v1")):
        await api.made("/resource-types", named(name, version))
    seen, path = [], "/resource-types?limit=2"
    while path:
        page = await api.get(path)
        seen += [(each["name"], each["version"]) for each in page.body]
        path = page.headers.get("Link", "").partition(">")[0].removeprefix("<")
    assert seen == [("Note", "v1"), ("Page", "v1"), ("Page", "v2")]
    assert len((await api.get("/resource-types?name=Page")).body) == 2


async def test_a_type_may_bring_the_plugin_of_its_resources(api: Api) -> None:
    body = {**NOTE_TYPE, "action_plugin": "shelf", "plugin_config": {"prefix": ">"}}
    await api.made("/resource-types", body)
    made = await api.made("/resources", note("one", action_plugin=None))
    assert (made["action_plugin"], made["finalizers"]) == ("shelf", ["shelf"])
    await api.becomes(1, "ready")


async def test_a_type_that_kubectl_makes_is_there_by_a_number(api: Api, client: Client) -> None:
    spec = {"name": "Note", "schema": {"type": "object"}, "action": {"plugin": "shelf"}}
    kind = RESOURCE_TYPE.kind
    mine = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "mine"}, "spec": spec}
    await client.create(TYPES, mine)
    await eventually(lambda: api.get("/resource-types/1"), lambda each: each.status == 200)
    await eventually(lambda: api.post("/resources", note("one")), lambda each: each.status == 201)


class TestBesideACluster:
    """Whose server asks nobody before it writes."""

    @pytest.fixture
    def has_guards(self) -> bool:
        return False

    async def test_the_same_is_refused(self, api: Api) -> None:
        await api.made("/resource-types", NOTE_TYPE)
        await api.made("/resources", note("one"))
        assert (await api.post("/resource-types", named("Note"))).status == 409
        assert (await api.put("/resource-types/1", {"schema": {"required": ["title"]}})).status == 422
        assert (await api.delete("/resource-types/1")).status == 409
