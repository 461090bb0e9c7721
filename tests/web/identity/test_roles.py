"""Roles, their permissions, and what they are worth."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.json import Json, JsonObject
from homeostat.plane import Plane
from homeostat.testing.eventually import eventually
from homeostat.web.identity.api import OPERATIONS, REST_ROLE, Permission
from homeostat.web.identity.permissions import allows, numbered
from tests.web.faces import Caller, Face
from tests.web.identity.test_users import ANNA

READ_V1: JsonObject = {
    "resource_type_name": "DatabaseCluster",
    "resource_type_version": "v1",
    "operations": ["READ"],
}
ALLOWED = {
    "the type": ([Permission(type="Db", version="v1", operations=("READ",))], ("Db", "v1", "READ"), True),
    "another operation": ([Permission(type="Db", version="v1", operations=("READ",))], ("Db", "v1", "DELETE"), False),
    "another type": ([Permission(type="Db", version="v1")], ("Queue", "v1", "READ"), False),
    "another version": ([Permission(type="Db", version="v1")], ("Db", "v2", "READ"), False),
    "any type at a version": ([Permission(version="v1")], ("Queue", "v1", "READ"), True),
    "any type at another version": ([Permission(version="v1")], ("Queue", "v2", "READ"), False),
    "any version": ([Permission(type="Db")], ("Db", "v9", "READ"), True),
    "everything": ([Permission()], ("Db", "v9", "DELETE"), True),
    "nothing": ([], ("Db", "v1", "READ"), False),
    "one of several": ([Permission(type="Db"), Permission(type="Queue")], ("Queue", "v1", "READ"), True),
    "not joined from two": (
        [Permission(type="Db", operations=("READ",)), Permission(type="Queue", operations=("DELETE",))],
        ("Db", "v1", "DELETE"),
        False,
    ),
}
MISFITS: dict[str, JsonObject] = {
    "without a name": {},
    "an empty name": {"name": ""},
    "an unknown system permission": {"name": "x", "system_permissions": ["view_webhooks", "fly"]},
    "an unknown operation": {"name": "x", "permissions": [{"operations": ["LOOK"]}]},
    "no operation": {"name": "x", "permissions": [{"operations": []}]},
}


@pytest.mark.parametrize(("permissions", "question", "expected"), ALLOWED.values(), ids=ALLOWED)
def test_a_permission_allows(permissions: list[Permission], question: tuple[str, str, str], expected: bool) -> None:
    assert allows(permissions, *question) is expected


@given(st.lists(st.builds(Permission, id=st.integers(0, 4))))
def test_every_permission_has_a_number_of_its_own_and_keeps_it(permissions: list[Permission]) -> None:
    found = numbered(permissions)
    assert len({each.id for each in found}) == len(permissions)
    assert all(each.id for each in found)
    assert numbered(found) == found


async def create(admin: Caller, **fields: Json) -> JsonObject:
    told = await admin.post("/custom-roles", {"name": "viewers", **fields})
    assert told.status == 201, told
    body: JsonObject = told.body
    return body


async def test_a_role_is_shown_whole(admin: Caller) -> None:
    made = await create(admin, description="May look", system_permissions=["view_plugins"], permissions=[READ_V1, {}])
    assert made == (await admin.get(f"/custom-roles/{made['id']}")).body
    assert (await admin.get("/custom-roles")).body == [made]
    assert made.pop("created_at").endswith("Z")
    assert made.pop("updated_at").endswith("Z")
    assert all(each.pop("created_at").endswith("Z") for each in made["permissions"])
    everything = {"resource_type_name": "*", "resource_type_version": "*", "operations": list(OPERATIONS)}
    assert made == {
        "id": 1,
        "name": "viewers",
        "description": "May look",
        "system_permissions": ["view_plugins"],
        "permissions": [{"id": 1, "role_id": 1, **READ_V1}, {"id": 2, "role_id": 1, **everything}],
    }


async def test_what_is_no_role_is_422(admin: Caller) -> None:
    for name, body in MISFITS.items():
        assert (await admin.post("/custom-roles", body)).status == 422, name


async def test_a_name_is_given_once(admin: Caller) -> None:
    await create(admin)
    await create(admin, name="editors")
    assert (await admin.post("/custom-roles", {"name": "viewers"})).status == 409
    assert (await admin.put("/custom-roles/2", {"name": "viewers"})).status == 409
    assert (await admin.put("/custom-roles/2", {"name": "editors"})).status == 200
    assert (await admin.put("/custom-roles/2", {"name": "writers"})).status == 200
    await create(admin, name="editors")


async def test_of_many_who_ask_for_one_name_at_most_one_gets_it(admin: Caller) -> None:
    told = await asyncio.gather(*(admin.post("/custom-roles", {"name": "viewers"}) for _ in range(6)))
    assert {each.status for each in told} <= {201, 409}
    made = [each for each in told if each.status == 201]
    assert len(made) <= 1
    assert len((await admin.get("/custom-roles")).body) == len(made)


async def test_a_role_is_changed(admin: Caller) -> None:
    made = await create(admin, description="May look", permissions=[READ_V1])
    told = await admin.put("/custom-roles/1", {"system_permissions": ["view_webhooks"]})
    assert {**told.body, "updated_at": ""} == {**made, "system_permissions": ["view_webhooks"], "updated_at": ""}
    assert (await admin.put("/custom-roles/1", {"system_permissions": ["fly"]})).status == 422


async def test_permissions_come_change_and_go(admin: Caller) -> None:
    await create(admin)
    added = await admin.post("/custom-roles/1/permissions", READ_V1)
    assert added.body.pop("created_at").endswith("Z")
    assert (added.status, added.body) == (201, {"id": 1, "role_id": 1, **READ_V1})
    assert (await admin.post("/custom-roles/1/permissions", READ_V1)).status == 409
    changed = await admin.put("/custom-roles/1/permissions/1", {"operations": ["READ", "UPDATE", "READ"]})
    assert (changed.status, changed.body["operations"]) == (200, ["READ", "UPDATE"])
    assert (await admin.put("/custom-roles/1/permissions/1", {})).status == 422
    assert (await admin.delete("/custom-roles/1/permissions/1")).status == 204
    assert (await admin.get("/custom-roles/1")).body["permissions"] == []


async def test_a_permission_is_found_below_its_own_role_only(admin: Caller) -> None:
    await create(admin, permissions=[READ_V1, {}])
    await create(admin, name="editors", permissions=[READ_V1])
    assert (await admin.delete("/custom-roles/2/permissions/2")).status == 404
    assert (await admin.put("/custom-roles/2/permissions/2", {"operations": ["READ"]})).status == 404
    assert (await admin.post("/custom-roles/9/permissions", {})).status == 404
    assert len((await admin.get("/custom-roles/1")).body["permissions"]) == 2


async def test_permissions_that_are_added_together_are_all_kept(admin: Caller) -> None:
    await create(admin)
    forms = [{"resource_type_name": f"Type{at}"} for at in range(4)]
    told = await asyncio.gather(*(admin.post("/custom-roles/1/permissions", form) for form in forms))
    assert {each.status for each in told} == {201}
    assert len({each["id"] for each in (await admin.get("/custom-roles/1")).body["permissions"]}) == 4


async def test_a_role_that_is_gone_is_taken_from_its_users(admin: Caller) -> None:
    await create(admin)
    await admin.post("/users", {**ANNA, "custom_role_id": 1})
    assert (await admin.get("/users/2")).body["custom_role_id"] == 1
    assert (await admin.delete("/custom-roles/1")).status == 204
    assert (await admin.get("/custom-roles/1")).status == 404
    assert (await admin.delete("/custom-roles/1")).status == 404
    assert (await admin.get("/users/2")).body["custom_role_id"] is None


async def test_a_changed_role_counts_at_once(admin: Caller, nobody: Caller) -> None:
    await create(admin)
    await admin.post("/users", {**ANNA, "custom_role_id": 1})
    anna = await nobody.login("anna", ANNA["password"])
    assert (await anna.get("/admission-webhooks")).status == 403
    await admin.put("/custom-roles/1", {"system_permissions": ["view_webhooks"]})
    assert (await anna.get("/admission-webhooks")).status == 200
    await admin.put("/users/2", {"custom_role_id": None})
    assert (await anna.get("/admission-webhooks")).status == 403


async def test_a_role_declared_with_kubectl_has_numbers(admin: Caller, plane: Plane, face: Face) -> None:
    spec = {"name": "viewers", "permissions": [{"type": "Db", "operations": ["READ"]}, {"type": "Queue"}]}
    body = {"apiVersion": "homeostat.dev/v1alpha1", "kind": "RestRole", "metadata": {"name": "viewers"}, "spec": spec}
    await plane.client.create(REST_ROLE.kind.path("default"), body)
    listed = await eventually(lambda: admin.get("/custom-roles"), lambda told: len(told.body) == 1)
    assert [each["id"] for each in listed.body[0]["permissions"]] == [1, 2]
    assert (await admin.delete(f"/custom-roles/{listed.body[0]['id']}/permissions/1")).status == 204
    found = await plane.client.get(REST_ROLE.kind.path("default", "viewers"))
    assert [(each["id"], each["type"]) for each in found["spec"]["permissions"]] == [(2, "Queue")]


async def test_a_long_list_of_roles_comes_in_pages(admin: Caller) -> None:
    for name in ("readers", "writers", "others"):
        assert (await admin.post("/custom-roles", {"name": name})).status == 201
    first = await admin.get("/custom-roles?limit=2")
    assert [each["name"] for each in first.body] == ["readers", "writers"]
    assert first.headers["Link"] == '</api/v1/custom-roles?limit=2&after=2>; rel="next"'
    second = await admin.get("/custom-roles?limit=2&after=2")
    assert ([each["name"] for each in second.body], "Link" in second.headers) == (["others"], False)
