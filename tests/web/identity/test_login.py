"""Logging in, and what a token is worth."""

from __future__ import annotations

import asyncio
import time

import jwt
import pytest

from homeostat.external.environment import SettingError
from homeostat.objects.json import Json, JsonObject
from homeostat.plane import Plane
from homeostat.runtime.faces.private import NamespaceSecrets
from homeostat.server.access.tokens.file import Tokens as ServerTokens
from homeostat.testing.eventually import eventually
from homeostat.web.identity.credentials.token import load_key
from tests.web.faces import ADMIN, Caller, Face, open_face

GOOD: JsonObject = {"username": "admin", "password": "correct horse"}
WRONG = {
    "a wrong password": {**GOOD, "password": "wrong horse"},
    "no password": {**GOOD, "password": ""},
    "an unknown user": {**GOOD, "username": "nobody"},
    "a name that is none": {**GOOD, "username": "../admin"},
    "no name": {**GOOD, "username": ""},
}


async def test_a_login_gives_a_token_of_the_spec(admin: Caller, nobody: Caller) -> None:
    told = await nobody.post("/auth/login", GOOD)
    assert told.status == 200
    token = told.body.pop("access_token")
    assert told.body == {"token_type": "bearer", "username": "admin", "is_admin": True}
    claims = jwt.decode(token, options={"verify_signature": False})
    assert 24 * 3600 - 5 < claims.pop("exp") - claims.pop("iat") < 24 * 3600 + 5
    assert claims == {"sub": "1", "username": "admin", "is_admin": True, "source": "manual", "custom_role_id": None}
    assert told.headers["Cache-Control"] == "no-store"


async def test_whatever_is_wrong_the_answer_is_the_same(admin: Caller, nobody: Caller) -> None:
    for name, body in WRONG.items():
        told = await nobody.post("/auth/login", body)
        assert (told.status, told.body) == (401, {"detail": "Invalid credentials"}), name


async def test_what_is_no_login_is_422(nobody: Caller) -> None:
    forms: list[Json] = [{}, {"username": "admin"}, [], "x", {**GOOD, "password": 1}]
    assert [(await nobody.post("/auth/login", each)).status for each in forms] == [422] * len(forms)


async def test_a_login_of_megabytes_is_not_decoded(nobody: Caller) -> None:
    told = await nobody.post("/auth/login", {"username": "admin", "password": "x", "more": [[]] * 300_000})
    assert (told.status, "a login has at most 65536" in told.body["detail"]) == (413, True), told


async def test_a_user_of_a_directory_cannot_log_in_without_it(admin: Caller, nobody: Caller, plane: Plane) -> None:
    spec = {"source": "ldap", "directoryName": "uid=dora,dc=example"}
    body = {"apiVersion": "homeostat.dev/v1alpha1", "kind": "RestUser", "metadata": {"name": "dora"}, "spec": spec}
    await plane.client.create("/apis/homeostat.dev/v1alpha1/namespaces/default/restusers", body)
    await eventually(lambda: admin.get("/users"), lambda told: len(told.body) == 2)
    assert (await nobody.post("/auth/login", {"username": "dora", "password": "x"})).status == 401


async def test_who_one_is(admin: Caller) -> None:
    told = await admin.get("/auth/me")
    assert (told.status, told.body["username"], told.body["id"]) == (200, "admin", 1)
    assert told.body["last_login_at"].endswith("Z")


async def test_without_a_token_or_with_a_bad_one_it_is_401(nobody: Caller, admin: Caller, plane: Plane) -> None:
    key = await load_key(NamespaceSecrets(plane.client, "kube-system"), {})
    claims = {"sub": "1", "username": "admin", "is_admin": True, "iat": time.time() - 10}
    tokens = {
        "none": "",
        "nonsense": "abc",
        "changed": admin.token[:-4] + "AAAA",
        "expired": jwt.encode({**claims, "exp": time.time() - 5}, key, "HS256"),
        "of another user by that name": jwt.encode({**claims, "sub": "7", "exp": time.time() + 60}, key, "HS256"),
        "of a user who is not there": jwt.encode({**claims, "username": "x", "exp": time.time() + 60}, key, "HS256"),
    }
    for name, token in tokens.items():
        told = await nobody.with_token(token).get("/auth/me")
        assert (told.status, told.headers["WWW-Authenticate"]) == (401, "Bearer"), name


async def test_what_the_token_says_of_permissions_is_not_believed(admin: Caller, nobody: Caller, plane: Plane) -> None:
    await admin.post("/users", {"username": "anna", "password": "anna's password"})
    claims = {"sub": "2", "username": "anna", "is_admin": True, "iat": time.time(), "exp": time.time() + 60}
    token = jwt.encode(claims, await load_key(NamespaceSecrets(plane.client, "kube-system"), {}), "HS256")
    assert (await nobody.with_token(token).get("/auth/me")).body["is_admin"] is False
    assert (await nobody.with_token(token).get("/users")).status == 403


async def test_a_token_of_the_control_plane_is_taken_too(admin: Caller, nobody: Caller, plane: Plane) -> None:
    tokens = ServerTokens(plane.settings.data / "tokens.json")
    token = tokens.create("root", now=time.time(), groups=("system:masters",), life_s=60)
    root = nobody.with_token(token)
    await eventually(lambda: root.get("/users"), lambda told: told.status == 200)
    assert (await root.get("/auth/me")).status == 404


async def test_who_guesses_waits(admin: Caller, nobody: Caller) -> None:
    wrong = {**GOOD, "password": "wrong horse"}
    told = await asyncio.gather(*(nobody.post("/auth/login", wrong) for _ in range(9)))
    assert sorted(each.status for each in told) == [*[401] * 5, *[429] * 4]
    refused = await nobody.post("/auth/login", GOOD)
    assert refused.status == 429
    assert 1 <= int(refused.headers["Retry-After"]) <= 30


async def test_the_first_administrator_is_made_once(admin: Caller, plane: Plane) -> None:
    other = {"INITIAL_ADMIN_USERNAME": "eve", "INITIAL_ADMIN_PASSWORD": "eve's password"}
    async with open_face(plane.client, other) as face:
        assert (await face.nobody.with_token(admin.token).get("/users")).body[0]["username"] == "admin"
        told = await face.nobody.post("/auth/login", {"username": "eve", "password": "eve's password"})
        assert told.status == 401


async def test_servers_that_start_together_make_one_administrator(plane: Plane) -> None:
    async with open_face(plane.client, ADMIN) as one, open_face(plane.client, ADMIN) as two:
        assert [await _users_of(face) for face in (one, two)] == [["admin"], ["admin"]]


async def _users_of(face: Face) -> list[str]:
    caller = await face.nobody.login("admin", "correct horse")
    return [each["username"] for each in (await caller.get("/users")).body]


BAD_SETTINGS: dict[str, dict[str, str]] = {
    "INITIAL_ADMIN_PASSWORD": {**ADMIN, "INITIAL_ADMIN_PASSWORD": "short"},
    "INITIAL_ADMIN_USERNAME": {**ADMIN, "INITIAL_ADMIN_USERNAME": "Root"},
    "JWT_SECRET_KEY": {"JWT_SECRET_KEY": "short"},
    "JWT_EXPIRY_HOURS": {"JWT_EXPIRY_HOURS": "soon"},
}


@pytest.mark.parametrize("variable", BAD_SETTINGS)
async def test_an_invalid_setting_is_named_without_its_secret(plane: Plane, variable: str) -> None:
    with pytest.raises(SettingError, match=variable) as caught:
        async with open_face(plane.client, BAD_SETTINGS[variable]):
            pass
    assert "short" not in str(caught.value).replace("shorter", "")
