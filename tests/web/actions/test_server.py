"""The whole REST API as it is served: users, roles and webhooks have their say over resources."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import aiohttp
import pytest

from homeostat.external.environment import SettingError
from homeostat.objects.json import Json, JsonObject
from homeostat.operators import actions
from homeostat.operators.actions.plugins.catalog import ACTIONS
from homeostat.plane import Plane
from homeostat.runtime.installation import install
from homeostat.testing.plane import open_test_plane
from homeostat.web.actions import serving
from homeostat.web.actions.access import KINDS as FACE_KINDS
from homeostat.web.identity.identity import open_identity
from tests.web.actions.shelf import ShelfPlugin, World
from tests.web.actions.webhooks.hook_server import HookServer, add, open_hook_server
from tests.web.faces import ADMIN, CHEAP, Caller
from tests.web.rest import serve_rest

SCHEMA: JsonObject = {
    "type": "object",
    "required": ["engine"],
    "properties": {"engine": {"type": "string"}, "replicas": {"type": "integer", "maximum": 9}},
}
TYPES = [("DatabaseCluster", "v1"), ("Queue", "v1"), ("Bucket", "v2")]
PASSWORD = "a password"


def resource(kind: tuple[str, str], name: str, **spec: Json) -> JsonObject:
    names = {"resource_type_name": kind[0], "resource_type_version": kind[1]}
    return {"name": name, **names, "action_plugin": "shelf", "spec": {"engine": "x", **spec}}


@pytest.fixture
async def nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Caller]:
    monkeypatch.setitem(ACTIONS, "shelf", "tests.web.actions.shelf:ShelfPlugin")
    monkeypatch.setattr(ShelfPlugin, "world", World())
    monkeypatch.setattr(serving, "open_identity", partial(open_identity, cost=CHEAP))
    environment = {**ADMIN, "HOMEOSTAT_HOOKS_ALLOW_PRIVATE": "1"}
    async with (
        open_test_plane(tmp_path / "plane", actions) as plane,
        serve_rest(plane.client, plane.private, namespace="default", environment=environment, is_open=False) as server,
        aiohttp.ClientSession() as session,
    ):
        yield Caller(f"http://127.0.0.1:{server.port}", session)


@pytest.fixture
async def admin(nobody: Caller) -> Caller:
    return await nobody.login("admin", "correct horse")


@pytest.fixture
async def hooks() -> AsyncIterator[HookServer]:
    async with open_hook_server() as server:
        yield server


async def create(admin: Caller, path: str, body: JsonObject) -> int:
    told = await admin.post(path, body)
    assert told.status == 201, told
    number: int = told.body["id"]
    return number


async def declare_types(admin: Caller, *types: tuple[str, str]) -> None:
    for name, version in types:
        await create(admin, "/resource-types", {"name": name, "version": version, "schema": SCHEMA})


async def user(admin: Caller, name: str, *permissions: JsonObject, system: tuple[str, ...] = ()) -> Caller:
    role = {"name": f"of {name}", "permissions": list(permissions), "system_permissions": list(system)}
    number = await create(admin, "/custom-roles", role)
    await create(admin, "/users", {"username": name, "password": PASSWORD, "custom_role_id": number})
    return await admin.login(name, PASSWORD)


async def test_a_role_decides_what_is_seen_and_done(admin: Caller) -> None:
    await declare_types(admin, *TYPES)
    numbers = [await create(admin, "/resources", resource(kind, f"r{at}")) for at, kind in enumerate(TYPES)]
    reader = await user(
        admin,
        "reader",
        {"resource_type_name": "DatabaseCluster", "resource_type_version": "v1", "operations": ["READ"]},
    )
    anything = await user(admin, "anything", {"resource_type_version": "v1", "operations": ["READ", "DELETE"]})
    nothing = await user(admin, "nothing")

    async def names(caller: Caller) -> set[str]:
        return {each["name"] for each in (await caller.get("/resources")).body}

    assert [await names(each) for each in (reader, anything, nothing)] == [{"r0"}, {"r0", "r1"}, set()]
    assert await names(admin) == {"r0", "r1", "r2"}
    shown = [(await reader.get(f"/resources/{number}")).status for number in numbers]
    assert shown == [200, 403, 403]
    assert (await reader.delete(f"/resources/{numbers[0]}")).status == 403
    assert (await reader.post("/resources", resource(TYPES[0], "new"))).status == 403
    assert (await reader.put(f"/resources/{numbers[0]}", {"spec": {"engine": "y"}})).status == 403
    assert (await reader.post("/resource-types", {"name": "X", "version": "v1", "schema": {}})).status == 403
    assert (await reader.get("/resource-types")).status == 200
    assert (await anything.delete(f"/resources/{numbers[0]}")).status == 202
    assert (await anything.delete(f"/resources/{numbers[2]}")).status == 403


async def test_without_a_token_there_is_nothing_to_see(nobody: Caller) -> None:
    for path in ("/resources", "/resource-types", "/plugins/actions", "/users", "/auth/me", "/cluster/nodes"):
        assert (await nobody.get(path)).status == 401, path
    assert (await nobody.get("/health")).status == 200


async def test_plugins_are_shown_to_who_may_see_them(admin: Caller) -> None:
    looker, other = await user(admin, "looker", system=("view_plugins",)), await user(admin, "other")
    assert [(await each.get("/plugins/actions")).status for each in (looker, other)] == [200, 403]


async def test_webhooks_change_judge_and_see_the_old_one(admin: Caller, hooks: HookServer) -> None:
    await declare_types(admin, TYPES[0])
    grow = {"name": "grow", "webhook_type": "mutating", "webhook_url": hooks.allows("/grow", add("/replicas", 5))}
    await create(admin, "/admission-webhooks", {**grow, "operations": ["CREATE"]})
    judge = {"name": "judge", "webhook_type": "validating", "webhook_url": hooks.allows("/judge")}
    await create(admin, "/admission-webhooks", judge)
    number = await create(admin, "/resources", resource(TYPES[0], "pg"))
    assert (await admin.get(f"/resources/{number}")).body["spec"] == {"engine": "x", "replicas": 5}
    assert hooks.paths == ["/grow", "/judge"]
    assert hooks.asked[1][1]["resource"]["spec"] == {"engine": "x", "replicas": 5}

    hooks.asked.clear()
    told = await admin.put(f"/resources/{number}", {"spec": {"engine": "y"}})
    assert told.status == 200, told
    ((_, asked),) = hooks.asked
    assert (asked["operation"], asked["resource"]["spec"]) == ("UPDATE", {"engine": "y"})
    assert asked["old_resource"]["spec"] == {"engine": "x", "replicas": 5}
    assert asked["old_resource"]["name"] == "pg"

    hooks.denies("/judge", "not on a Friday")
    told = await admin.put(f"/resources/{number}", {"spec": {"engine": "z"}})
    assert (told.status, told.body["detail"]) == (403, "not on a Friday")
    assert (await admin.delete(f"/resources/{number}")).status == 403
    assert (await admin.get(f"/resources/{number}")).body["spec"] == {"engine": "y"}


async def test_what_a_webhook_made_is_validated_by_the_schema(admin: Caller, hooks: HookServer) -> None:
    await declare_types(admin, TYPES[0])
    grow = {"name": "grow", "webhook_type": "mutating", "webhook_url": hooks.allows("/grow", add("/replicas", 99))}
    await create(admin, "/admission-webhooks", grow)
    told = await admin.post("/resources", resource(TYPES[0], "pg"))
    assert told.status in (400, 403)
    assert "replicas" in told.body["detail"]
    assert (await admin.get("/resources")).body == []


async def test_what_keeps_it_from_serving_is_reported_as_it_is(plane: Plane) -> None:
    environment = {"JWT_EXPIRY_HOURS": "soon"}
    with pytest.raises(SettingError, match="JWT_EXPIRY_HOURS"):
        async with serve_rest(plane.client, plane.private, environment=environment, is_open=True):
            pass


async def test_open_to_this_machine_it_needs_no_login_and_still_has_one(plane: Plane) -> None:
    await install(plane.client, (*actions.KINDS, *FACE_KINDS))
    async with (
        serve_rest(plane.client, plane.private, namespace="default", environment=ADMIN, is_open=True) as server,
        aiohttp.ClientSession() as session,
    ):
        anybody = Caller(f"http://127.0.0.1:{server.port}", session)
        assert (await anybody.get("/users")).body[0]["username"] == "admin"
        await anybody.login("admin", "correct horse")
