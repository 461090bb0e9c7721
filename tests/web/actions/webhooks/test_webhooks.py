"""Webhooks as administrators keep them."""

from __future__ import annotations

import asyncio

import pytest

from homeostat.objects.json import Json, JsonObject
from homeostat.plane import Plane
from homeostat.testing.eventually import eventually
from homeostat.web.actions.webhooks.api import REST_WEBHOOK
from homeostat.web.kit.refusal import RefusalError
from tests.web.actions.webhooks.hook_server import HookServer, add
from tests.web.actions.webhooks.test_chain import RESOURCE
from tests.web.faces import ADMIN, Caller, Face, open_face

NEW: JsonObject = {"name": "sizes", "webhook_url": "https://hooks.example.com/a", "webhook_type": "validating"}
MISFITS: dict[str, tuple[JsonObject, str]] = {
    "without a url": ({"name": "x", "webhook_type": "mutating"}, "webhook_url"),
    "a long url": ({**NEW, "webhook_url": "https://e.com/" + "x" * 2048}, "webhook_url"),
    "no url": ({**NEW, "webhook_url": "ftp://example.com"}, "webhook_url"),
    "credentials": ({**NEW, "webhook_url": "https://me:pw@example.com"}, "webhook_url"),
    "another type": ({**NEW, "webhook_type": "watching"}, "webhook_type"),
    "reading": ({**NEW, "operations": ["READ"]}, "operations"),
    "no operation": ({**NEW, "operations": []}, "operations"),
    "no time": ({**NEW, "timeout_seconds": 0}, "timeout_seconds"),
    "too much time": ({**NEW, "timeout_seconds": 61}, "timeout_seconds"),
    "another policy": ({**NEW, "failure_policy": "Pray"}, "failure_policy"),
}


async def create(admin: Caller, **fields: Json) -> JsonObject:
    told = await admin.post("/admission-webhooks", {**NEW, **fields})
    assert told.status == 201, told
    body: JsonObject = told.body
    return body


async def test_a_webhook_is_shown_whole(admin: Caller) -> None:
    made = await create(admin)
    assert made == (await admin.get("/admission-webhooks/1")).body
    assert made.pop("created_at").endswith("Z")
    assert made.pop("updated_at").endswith("Z")
    assert made == {
        "id": 1,
        **NEW,
        "operations": ["CREATE", "UPDATE", "DELETE"],
        "resource_type_name": None,
        "resource_type_version": None,
        "timeout_seconds": 10,
        "failure_policy": "Fail",
        "ordering": 0,
    }


async def test_what_is_no_webhook_is_422(admin: Caller) -> None:
    for name, (body, field) in MISFITS.items():
        told = await admin.post("/admission-webhooks", body)
        assert told.status == 422, name
        assert told.body["detail"][0]["loc"][:2] == ["body", field], name


async def test_a_name_is_given_once(admin: Caller) -> None:
    await create(admin)
    await create(admin, name="names")
    assert (await admin.post("/admission-webhooks", NEW)).status == 409
    assert (await admin.put("/admission-webhooks/2", {"name": "sizes"})).status == 409
    assert (await admin.put("/admission-webhooks/2", {"name": "other"})).body["name"] == "other"


async def test_a_webhook_is_changed_and_its_filters_taken_away_with_null(admin: Caller) -> None:
    made = await create(admin, resource_type_name="Db", resource_type_version="v1", ordering=3)
    told = await admin.put("/admission-webhooks/1", {"timeout_seconds": 5})
    assert {**told.body, "updated_at": ""} == {**made, "timeout_seconds": 5, "updated_at": ""}
    told = await admin.put("/admission-webhooks/1", {"resource_type_name": None, "resource_type_version": None})
    assert (told.body["resource_type_name"], told.body["resource_type_version"]) == (None, None)
    assert told.body["ordering"] == 3
    assert (await admin.put("/admission-webhooks/1", {"webhook_url": "file:///x"})).status == 422


async def test_webhooks_are_listed_and_filtered(admin: Caller) -> None:
    await create(admin, name="a", resource_type_name="Db")
    await create(admin, name="b", resource_type_name="Db", resource_type_version="v2", webhook_type="mutating")
    await create(admin, name="c")

    async def names(query: str) -> list[str]:
        return [each["name"] for each in (await admin.get(f"/admission-webhooks{query}")).body]

    assert await names("") == ["a", "b", "c"]
    assert await names("?resource_type_name=Db") == ["a", "b"]
    assert await names("?resource_type_name=Db&resource_type_version=v2") == ["b"]
    assert await names("?webhook_type=validating") == ["a", "c"]
    assert (await admin.get("/admission-webhooks?webhook_type=x")).status == 422


async def test_a_webhook_goes(admin: Caller) -> None:
    await create(admin)
    assert (await admin.delete("/admission-webhooks/1")).status == 204
    for method in ("GET", "PUT", "DELETE"):
        assert (await admin.ask(method, "/admission-webhooks/1", {})).status == 404


async def test_who_may_see_webhooks_may_not_write_them(admin: Caller, face: Face) -> None:
    await create(admin)
    await admin.post("/custom-roles", {"name": "lookers", "system_permissions": ["view_webhooks"]})
    for name, role in (("anna", 1), ("bert", None)):
        await admin.post("/users", {"username": name, "password": "a password", "custom_role_id": role})
    anna, bert = [await face.nobody.login(name, "a password") for name in ("anna", "bert")]
    for path in ("/admission-webhooks", "/admission-webhooks/1"):
        assert [(await each.get(path)).status for each in (anna, bert, face.nobody)] == [200, 403, 401]
    for method, path in (("POST", ""), ("PUT", "/1"), ("DELETE", "/1")):
        told = [await each.ask(method, f"/admission-webhooks{path}", NEW) for each in (anna, bert, face.nobody)]
        assert [each.status for each in told] == [403, 403, 401]


async def test_private_targets_are_refused_unless_the_owner_allows_them(plane: Plane) -> None:
    async with open_face(plane.client, ADMIN) as face:
        admin = await face.nobody.login("admin", "correct horse")
        told = await admin.post("/admission-webhooks", {**NEW, "webhook_url": "http://10.1.2.3/latest"})
        assert told.status == 422
        assert "HOMEOSTAT_HOOKS_ALLOW_PRIVATE" in told.body["detail"][0]["msg"]


async def test_a_webhook_is_asked_as_soon_as_it_is_there(admin: Caller, face: Face, hooks: HookServer) -> None:
    assert await face.hooks.admit("CREATE", RESOURCE, None) == RESOURCE["spec"]
    await create(admin, webhook_url=hooks.allows("/grow", add("/replicas", 3)), webhook_type="mutating")
    assert await face.hooks.admit("CREATE", RESOURCE, None) == {"engine": "postgres", "replicas": 3}
    await admin.put("/admission-webhooks/1", {"webhook_url": hooks.denies("/strict", "not today")})
    with pytest.raises(RefusalError, match="not today"):
        await face.hooks.admit("CREATE", RESOURCE, None)
    await admin.delete("/admission-webhooks/1")
    assert await face.hooks.admit("CREATE", RESOURCE, None) == RESOURCE["spec"]


async def test_a_webhook_declared_with_kubectl_counts(
    admin: Caller, face: Face, hooks: HookServer, plane: Plane
) -> None:
    spec = {"name": "strict", "url": hooks.denies("/strict"), "type": "validating"}
    body = {"apiVersion": "homeostat.dev/v1alpha1", "kind": "RestWebhook", "metadata": {"name": "s"}, "spec": spec}
    await plane.client.create(REST_WEBHOOK.kind.path("default"), body)
    listed = await eventually(lambda: admin.get("/admission-webhooks"), lambda told: len(told.body) == 1)
    assert (listed.body[0]["id"], listed.body[0]["name"]) == (1, "strict")
    with pytest.raises(RefusalError, match="Denied by validating webhook strict"):
        await face.hooks.admit("CREATE", RESOURCE, None)


async def test_of_many_who_ask_for_one_name_at_most_one_gets_it(admin: Caller) -> None:
    told = await asyncio.gather(*(admin.post("/admission-webhooks", NEW) for _ in range(5)))
    made = [each for each in told if each.status == 201]
    assert len(made) <= 1
    assert len((await admin.get("/admission-webhooks")).body) == len(made)


async def test_a_long_list_of_webhooks_comes_in_pages(admin: Caller) -> None:
    for number in range(4):
        await create(admin, name=f"hook-{number}", webhook_type="mutating" if number == 1 else "validating")
    first = await admin.get("/admission-webhooks?webhook_type=validating&limit=2")
    assert [each["id"] for each in first.body] == [1, 3]
    assert first.headers["Link"] == '</api/v1/admission-webhooks?webhook_type=validating&limit=2&after=3>; rel="next"'
    second = await admin.get("/admission-webhooks?webhook_type=validating&limit=2&after=3")
    assert ([each["id"] for each in second.body], "Link" in second.headers) == ([4], False)
