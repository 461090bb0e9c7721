"""Users who are kept in a directory, at a real slapd."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from homeostat.external.environment import SettingError
from homeostat.plane import Plane
from homeostat.testing.eventually import eventually
from homeostat.web.identity.api import REST_USER
from homeostat.web.identity.ldap.directory import read_directory, sync_interval_s
from tests.external.slapds import ADMIN as DIRECTORY_ADMIN
from tests.external.slapds import ADMIN_PASSWORD, BASE, Slapd, person, run_slapd
from tests.operators.policy.test_live_faults import Obstacle
from tests.web.faces import ADMIN, Caller, Face, open_face


@pytest.fixture(scope="module")
def slapd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slapd]:
    people = [
        person("dora", "dora's password", email="d@example.com", title="Dora"),
        person("admin", "the directory's"),
        person("No.Name", "x"),
    ]
    with run_slapd(tmp_path_factory.mktemp("slapd"), people) as running:
        yield running


def settings(slapd: Slapd, **more: str) -> dict[str, str]:
    where = {"LDAP_URL": slapd.url, "LDAP_BASE_DN": BASE}
    return {**ADMIN, **where, "LDAP_BIND_DN": DIRECTORY_ADMIN, "LDAP_BIND_PASSWORD": ADMIN_PASSWORD, **more}


@pytest.fixture
async def face(plane: Plane, slapd: Slapd) -> AsyncIterator[Face]:
    async with open_face(plane.client, settings(slapd)) as face:
        yield face


async def test_users_of_the_directory_are_taken_over_and_log_in_there(admin: Caller, nobody: Caller) -> None:
    dora = {"username": "dora", "password": "dora's password"}
    assert (await nobody.post("/auth/login", dora)).status == 401
    assert (await admin.post("/users/ldap-sync")).body == {"created": 1, "updated": 0, "total": 1}
    found = (await admin.get("/users/2")).body
    assert (found["username"], found["source"], found["is_admin"]) == ("dora", "ldap", False)
    assert (found["email"], found["display_name"], found["custom_role_id"]) == ("d@example.com", "Dora", None)
    assert found["last_synced_at"].endswith("Z")
    told = await nobody.post("/auth/login", dora)
    assert told.status == 200
    for password in ("wrong", ""):
        assert (await nobody.post("/auth/login", {**dora, "password": password})).status == 401
    assert (await admin.post("/users/ldap-sync")).body == {"created": 0, "updated": 1, "total": 1}
    assert (await admin.put("/users/2", {"password": "a new password"})).status == 422


async def test_who_has_a_password_here_is_not_replaced_by_the_directory(admin: Caller, nobody: Caller) -> None:
    await admin.post("/users/ldap-sync")
    assert (await admin.get("/users/1")).body["source"] == "manual"
    assert (await nobody.post("/auth/login", {"username": "admin", "password": "the directory's"})).status == 401


async def test_what_an_administrator_gave_is_kept_by_a_sync(admin: Caller) -> None:
    await admin.post("/users/ldap-sync")
    await admin.post("/custom-roles", {"name": "viewers"})
    await admin.put("/users/2", {"custom_role_id": 1, "is_admin": True, "status": "suspended"})
    await admin.post("/users/ldap-sync")
    found = (await admin.get("/users/2")).body
    assert (found["custom_role_id"], found["is_admin"], found["status"]) == (1, True, "suspended")


async def test_a_sync_comes_by_itself_where_that_is_asked_for(plane: Plane, slapd: Slapd) -> None:
    async with open_face(plane.client, settings(slapd, LDAP_SYNC_INTERVAL="0.1")) as face:
        admin = await face.nobody.login("admin", "correct horse")
        await eventually(lambda: admin.get("/users"), lambda told: len(told.body) == 2)


async def test_a_user_that_cannot_be_read_is_left_as_it_is_by_a_sync(plane: Plane, slapd: Slapd) -> None:
    obstacle = Obstacle()
    obstacle.garbled = (b'"source":"ldap"', b'"source":7')
    client = plane.client.over(obstacle.over)
    async with open_face(client, settings(slapd, LDAP_SYNC_INTERVAL="0.1")) as face:
        admin = await face.nobody.login("admin", "correct horse")
        await eventually(lambda: plane.client.get(REST_USER.kind.path("default")), lambda told: len(told["items"]) == 2)
        await asyncio.sleep(0.5)
        assert (await admin.post("/users/ldap-sync")).body == {"created": 0, "updated": 0, "total": 0}


async def test_a_directory_that_is_away_is_503(plane: Plane) -> None:
    where = {"LDAP_URL": "ldap://127.0.0.1:1", "LDAP_BASE_DN": BASE}
    async with open_face(plane.client, {**ADMIN, **where}) as face:
        admin = await face.nobody.login("admin", "correct horse")
        told = await admin.post("/users/ldap-sync")
        assert (told.status, told.body["detail"].partition(":")[0]) == (503, "cannot reach the directory")


BAD_SETTINGS = {
    "LDAP_URL": {"LDAP_URL": "http://example.com"},
    "LDAP_USER_FILTER": {"LDAP_URL": "ldap://example.com", "LDAP_USER_FILTER": "uid=x"},
}


@pytest.mark.parametrize("variable", BAD_SETTINGS)
def test_a_setting_that_is_no_good_is_named(variable: str) -> None:
    with pytest.raises(SettingError, match=variable):
        read_directory(BAD_SETTINGS[variable])


@pytest.mark.parametrize("told", ["-1", "soon", "inf", "nan"])
def test_an_interval_that_is_none_is_named(told: str) -> None:
    with pytest.raises(SettingError, match="LDAP_SYNC_INTERVAL"):
        sync_interval_s({"LDAP_SYNC_INTERVAL": told})


def test_a_directory_never_shows_its_password() -> None:
    found = read_directory({"LDAP_URL": "ldaps://example.com", "LDAP_BIND_PASSWORD": "very secret"})
    assert found is not None
    assert "very secret" not in repr(found)
    assert read_directory({}) is None
