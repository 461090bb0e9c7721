"""Users, and what administrators do with them."""

from __future__ import annotations

import asyncio
import time

import pytest

from homeostat.objects.json import Json, JsonObject
from homeostat.objects.kind import SECRET
from homeostat.plane import Plane
from homeostat.server.access.tokens.file import Tokens
from homeostat.testing.eventually import eventually
from homeostat.web.identity.api import REST_USER
from tests.web.faces import ADMIN, Caller, Face, open_face

ANNA: JsonObject = {"username": "anna", "password": "anna's password"}
MISFITS: dict[str, tuple[JsonObject, list[Json]]] = {
    "upper case": ({**ANNA, "username": "InvalidUPPER"}, ["body", "username"]),
    "no name": ({**ANNA, "username": ""}, ["body", "username"]),
    "a long name": ({**ANNA, "username": "a" * 64}, ["body", "username"]),
    "a dash in front": ({**ANNA, "username": "-anna"}, ["body", "username"]),
    "a line break": ({**ANNA, "username": "anna\n"}, ["body", "username"]),
    "a short password": ({**ANNA, "password": "1234567"}, ["body", "password"]),
    "without a password": ({"username": "anna"}, ["body", "password"]),
    "no admin": ({**ANNA, "is_admin": "yes"}, ["body", "is_admin"]),
    "a role that is not there": ({**ANNA, "custom_role_id": 99}, ["body", "custom_role_id"]),
}


async def create(admin: Caller, **fields: Json) -> JsonObject:
    told = await admin.post("/users", {**ANNA, **fields})
    assert told.status == 201, told
    body: JsonObject = told.body
    return body


async def test_a_user_is_shown_without_anything_of_the_password(admin: Caller) -> None:
    made = await create(admin, email="a@example.com", display_name="Anna")
    assert made.pop("created_at").endswith("Z")
    assert made.pop("updated_at").endswith("Z")
    assert made == {
        "id": 2,
        "username": "anna",
        "email": "a@example.com",
        "display_name": "Anna",
        "source": "manual",
        "is_admin": False,
        "status": "active",
        "custom_role_id": None,
        "last_login_at": None,
        "last_synced_at": None,
    }


async def test_what_is_no_user_is_refused(admin: Caller) -> None:
    for name, (body, where) in MISFITS.items():
        told = await admin.post("/users", body)
        assert told.status == 422, name
        assert [each["loc"] for each in told.body["detail"]] == [where], name


async def test_a_name_is_given_once(admin: Caller, nobody: Caller, plane: Plane) -> None:
    await create(admin)
    told = await admin.post("/users", {**ANNA, "password": "another one"})
    assert told.status == 409
    await nobody.login("anna", ANNA["password"])
    found, _ = await plane.client.list(SECRET.path("kube-system"))
    assert len([each for each in found if each["metadata"]["name"].startswith("homeostat-private-rest-user-")]) == 2


async def test_of_many_who_ask_for_one_name_one_gets_it(admin: Caller, nobody: Caller) -> None:
    told = await asyncio.gather(*(admin.post("/users", {**ANNA, "password": f"password {at}"}) for at in range(8)))
    assert sorted(each.status for each in told) == [201, *[409] * 7]
    winner = [each.status for each in told].index(201)
    await nobody.login("anna", f"password {winner}")


async def test_users_are_listed_by_number_and_filtered(admin: Caller) -> None:
    for name in ("zoe", "anna", "bert"):
        await create(admin, username=name)
    await admin.put("/users/3", {"status": "suspended"})

    async def names(query: str) -> list[str]:
        return [each["username"] for each in (await admin.get(f"/users{query}")).body]

    assert await names("") == ["admin", "zoe", "anna", "bert"]
    assert await names("?is_admin=true") == ["admin"]
    assert await names("?is_admin=false&status=active") == ["zoe", "bert"]
    assert await names("?status=suspended") == ["anna"]
    assert await names("?source=ldap") == []
    assert (await admin.get("/users?status=gone")).status == 422
    assert (await admin.get("/users?limit=0")).status == 422


async def test_a_long_list_comes_in_pages(admin: Caller) -> None:
    for name in ("zoe", "anna"):
        await create(admin, username=name)
    first = await admin.get("/users?limit=2")
    assert [each["id"] for each in first.body] == [1, 2]
    assert first.headers["Link"] == '</api/v1/users?limit=2&after=2>; rel="next"'
    second = await admin.get("/users?limit=2&after=2")
    assert [each["id"] for each in second.body] == [3]
    assert "Link" not in second.headers


async def test_a_user_is_changed(admin: Caller) -> None:
    await create(admin, email="a@example.com")
    told = await admin.put("/users/2", {"display_name": "Anna", "is_admin": True})
    assert told.status == 200
    assert told.body == (await admin.get("/users/2")).body
    assert (told.body["email"], told.body["display_name"], told.body["is_admin"]) == ("a@example.com", "Anna", True)


async def test_a_role_is_kept_at_creation_shown_and_taken_away_with_null(admin: Caller) -> None:
    role = (await admin.post("/custom-roles", {"name": "viewers"})).body
    made = await create(admin, custom_role_id=role["id"])
    assert made["custom_role_id"] == role["id"]
    assert (await admin.put("/users/2", {"email": "x@example.com"})).body["custom_role_id"] == role["id"]
    assert (await admin.put("/users/2", {"custom_role_id": None})).body["custom_role_id"] is None
    assert (await admin.put("/users/2", {"custom_role_id": 99})).status == 422


async def test_a_deleted_user_is_suspended_and_out_at_once(admin: Caller, nobody: Caller) -> None:
    await create(admin)
    anna = await nobody.login("anna", ANNA["password"])
    assert (await anna.get("/auth/me")).status == 200
    assert (await admin.delete("/users/2")).status == 204
    assert (await admin.get("/users/2")).body["status"] == "suspended"
    assert (await anna.get("/auth/me")).status == 401
    assert (await nobody.post("/auth/login", ANNA)).status == 401
    await admin.put("/users/2", {"status": "active"})
    assert (await anna.get("/auth/me")).status == 401
    await nobody.login("anna", ANNA["password"])


async def test_a_new_password_voids_the_old_one_and_its_tokens(admin: Caller, nobody: Caller, plane: Plane) -> None:
    await create(admin)
    anna = await nobody.login("anna", ANNA["password"])
    assert (await admin.put("/users/2", {"password": "anna's second"})).status == 200
    assert (await anna.get("/auth/me")).status == 401
    assert (await nobody.post("/auth/login", ANNA)).status == 401
    assert (await (await nobody.login("anna", "anna's second")).get("/auth/me")).status == 200
    found, _ = await plane.client.list(SECRET.path("kube-system"))
    assert (
        len([each for each in found if each["metadata"]["name"].startswith("homeostat-private-rest-user-anna-")]) == 1
    )


@pytest.mark.parametrize("change", [{"is_admin": False}, {"status": "suspended"}])
async def test_the_last_administrator_stays(admin: Caller, change: JsonObject) -> None:
    assert (await admin.put("/users/1", change)).status == 409
    assert (await admin.delete("/users/1")).status == 409
    await create(admin, is_admin=True)
    assert (await admin.put("/users/1", change)).status == 200


async def test_administrators_who_demote_each_other_leave_one(admin: Caller, nobody: Caller) -> None:
    await create(admin, is_admin=True)
    anna = await nobody.login("anna", ANNA["password"])
    await asyncio.gather(admin.put("/users/2", {"is_admin": False}), anna.put("/users/1", {"is_admin": False}))
    found = [
        (await nobody.login(name, word)) for name, word in (("admin", "correct horse"), ("anna", ANNA["password"]))
    ]
    assert 200 in [(await each.get("/users")).status for each in found]


async def test_a_user_who_is_not_there_is_404(admin: Caller) -> None:
    for method in ("GET", "PUT", "DELETE"):
        assert (await admin.ask(method, "/users/99", {})).status == 404
        assert (await admin.ask(method, "/users/x", {})).status == 422


PAGES = [("GET", "/users"), ("POST", "/users"), ("GET", "/users/1"), ("PUT", "/users/1"), ("DELETE", "/users/1"),
         ("POST", "/users/ldap-sync"), ("GET", "/custom-roles"), ("POST", "/custom-roles"), ("PUT", "/custom-roles/1"),
         ("DELETE", "/custom-roles/1"), ("POST", "/custom-roles/1/permissions"),
         ("DELETE", "/custom-roles/1/permissions/1")]  # fmt: skip


async def test_only_an_administrator_sees_these_pages(admin: Caller, nobody: Caller) -> None:
    await create(admin)
    anna = await nobody.login("anna", ANNA["password"])
    assert {(await anna.ask(method, path, {})).status for method, path in PAGES} == {403}
    assert {(await nobody.ask(method, path, {})).status for method, path in PAGES} == {401}


async def test_a_sync_without_a_directory_is_503(admin: Caller) -> None:
    assert (await admin.post("/users/ldap-sync")).status == 503


async def test_a_user_declared_with_kubectl_gets_a_number_and_a_password(
    admin: Caller, nobody: Caller, plane: Plane
) -> None:
    body = {"apiVersion": "homeostat.dev/v1alpha1", "kind": "RestUser", "metadata": {"name": "carl"}}
    await plane.client.create(REST_USER.kind.path("default"), body)
    listed = await eventually(lambda: admin.get("/users"), lambda told: len(told.body) == 2)
    number = listed.body[1]["id"]
    assert (await nobody.post("/auth/login", {"username": "carl", "password": ""})).status == 401
    await admin.put(f"/users/{number}", {"password": "carl's password"})
    await nobody.login("carl", "carl's password")


async def test_a_second_server_knows_the_users_of_the_first(admin: Caller, plane: Plane, face: Face) -> None:
    await create(admin)
    async with open_face(plane.client, ADMIN) as other:
        anna = await eventually(lambda: other.nobody.login("anna", ANNA["password"]))
        assert (await face.nobody.with_token(anna.token).get("/auth/me")).body["username"] == "anna"
        assert len((await other.nobody.with_token(admin.token).get("/users")).body) == 2


async def test_a_user_that_admission_denies_leaves_no_hash(admin: Caller, nobody: Caller, plane: Plane) -> None:
    rules = [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": [REST_USER.kind.plural]}]
    denial = {"expression": "false", "message": "no more users", "reason": "Forbidden"}
    spec = {"matchConstraints": {"resourceRules": rules}, "validations": [denial]}
    admission = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"
    await plane.client.create(f"{admission}ies", {"metadata": {"name": "full"}, "spec": spec})
    bound = {"policyName": "full", "validationActions": ["Deny"]}
    await plane.client.create(f"{admission}ybindings", {"metadata": {"name": "full"}, "spec": bound})
    tokens = Tokens(plane.settings.data / "tokens.json")
    root = nobody.with_token(tokens.create("root", now=time.time(), groups=("system:masters",), life_s=60))
    told = await eventually(lambda: root.post("/users", ANNA), lambda told: told.status != 401)
    assert (told.status, "no more users" in told.body["detail"]) == (403, True), told
    secrets, _ = await plane.client.list(SECRET.path("kube-system"))
    names = [each["metadata"]["name"] for each in secrets]
    assert [each for each in names if "rest-user-" in each and "-admin-" not in each] == []
