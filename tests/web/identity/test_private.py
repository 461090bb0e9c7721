"""Keys and password hashes are out of reach of whoever may read Secrets, and those of earlier versions are moved."""

from __future__ import annotations

import base64
import time
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import jwt
import pytest

from homeostat.objects.errors import NotFoundError, UnavailableError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import SECRET
from homeostat.operators import actions
from homeostat.plane import Plane
from homeostat.runtime.faces.private import NamespaceSecrets, PrivateSecrets
from homeostat.testing.eventually import eventually
from homeostat.testing.plane import open_test_plane
from homeostat.web.identity.api import REST_USER, RestUserSpec
from homeostat.web.identity.credentials.migration import MARK, OLD_KEY, OLD_TYPE, migrate
from homeostat.web.identity.credentials.password import make_hash
from homeostat.web.identity.records import User
from homeostat.web.kit.records.register import RecordMetadata
from tests.web.faces import ADMIN, CHEAP, Caller, open_face
from tests.web.rest import serve_rest

OLD_SECRET = "rest-user-ann-0a0b0c0d"


@pytest.fixture
async def whole(tmp_path: Path) -> AsyncIterator[tuple[Plane, Caller]]:
    """The REST API of a plane, as `up` serves it."""
    async with (
        open_test_plane(tmp_path / "plane", actions) as plane,
        serve_rest(plane.client, plane.private, namespace="default", environment=ADMIN, is_open=False) as server,
        aiohttp.ClientSession() as session,
    ):
        yield plane, Caller(f"http://127.0.0.1:{server.port}", session)


def old_secret(name: str, type_: str, **data: bytes) -> JsonObject:
    encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "type": type_, "data": encoded}


async def declare_old_user(plane: Plane, name: str = "ann") -> None:
    kind = REST_USER.kind
    body = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": name, "labels": {"homeostat.dev/id": "7"}},
        "spec": {"isAdmin": True, "passwordSecret": OLD_SECRET},
    }
    await plane.client.create(kind.path("default"), body)


def user(name: str = "ann") -> User:
    return User(metadata=RecordMetadata(name), spec=RestUserSpec(password_secret=OLD_SECRET))


async def secrets_everywhere(plane: Plane) -> list[JsonObject]:
    found: list[JsonObject] = (await plane.client.get("/api/v1/secrets"))["items"]
    return found


async def test_no_reader_of_secrets_can_issue_a_token(whole: tuple[Plane, Caller]) -> None:
    plane, nobody = whole
    admin = await eventually(lambda: nobody.login("admin", "correct horse"))
    values = [
        base64.b64decode(value)
        for each in await secrets_everywhere(plane)
        for value in (each.get("data") or {}).values()
    ]
    claims = {"sub": "1", "username": "admin", "iat": time.time(), "exp": time.time() + 60}
    for value in values:
        forged = jwt.encode(claims, value, "HS256")
        assert (await nobody.with_token(forged).get("/users")).status == 401
        assert not value.startswith(b"scrypt$")
    assert (await admin.get("/users")).status == 200


async def test_private_secrets_are_in_no_resource_that_the_plane_serves(whole: tuple[Plane, Caller]) -> None:
    plane, nobody = whole
    await eventually(lambda: nobody.login("admin", "correct horse"))
    groups = (await plane.client.get("/apis"))["groups"]
    names = [each["name"] for each in (await plane.client.get("/api/v1"))["resources"]]
    for version in (each["preferredVersion"]["groupVersion"] for each in groups):
        names += [each["name"] for each in (await plane.client.get(f"/apis/{version}"))["resources"]]
    assert not [each for each in names if "private" in each]


async def test_private_secrets_are_sealed_on_disk(whole: tuple[Plane, Caller]) -> None:
    plane, _ = whole
    await plane.private.create("x", b"a very private value")
    files = [each.read_bytes() for each in plane.settings.data.rglob("*") if each.is_file()]
    assert not any(b"a very private value" in each or b"YSB2ZXJ5IHByaXZhdGUg" in each for each in files)
    assert await plane.private.read("x") == b"a very private value"


@pytest.fixture(params=["plane", "namespace"])
def private(request: pytest.FixtureRequest, plane: Plane) -> PrivateSecrets:
    return plane.private if request.param == "plane" else NamespaceSecrets(plane.client, "kube-system")


async def test_a_private_secret_is_created_once_read_replaced_and_deleted(private: PrivateSecrets) -> None:
    assert await private.read("a") is None
    assert await private.create("a", b"first") == b"first"
    assert await private.create("a", b"second") == b"first"
    assert await private.read("a") == b"first"
    assert await private.replace("a", b"other", b"second") == b"first"
    assert await private.replace("a", b"first", b"second") == b"second"
    assert await private.read("a") == b"second"
    await private.delete("a")
    await private.delete("a")
    assert await private.read("a") is None
    with pytest.raises(NotFoundError):
        await private.replace("a", b"second", b"third")
    assert await private.create("a", b"third") == b"third"


async def test_credentials_of_an_earlier_version_are_moved_and_their_key_is_replaced(plane: Plane) -> None:
    old_key = b"k" * 32
    await plane.client.create(SECRET.path("default"), old_secret(OLD_KEY, "Opaque", key=old_key))
    hashed = make_hash("ann's password", CHEAP).encode()
    await plane.client.create(SECRET.path("default"), old_secret(OLD_SECRET, OLD_TYPE, hash=hashed))
    async with open_face(plane.client, {}):
        pass
    await declare_old_user(plane)
    await NamespaceSecrets(plane.client, "kube-system").delete(MARK)
    async with open_face(plane.client, {}) as face:
        ann = await face.nobody.login("ann", "ann's password")
        assert (await ann.get("/users")).status == 200
        claims = {"sub": "7", "username": "ann", "iat": time.time(), "exp": time.time() + 60}
        assert (await face.nobody.with_token(jwt.encode(claims, old_key, "HS256")).get("/users")).status == 401
        left = [each["metadata"]["name"] for each in (await plane.client.get(SECRET.path("default")))["items"]]
        assert left == []


class Failing:
    """Private secrets whose nth write fails, as in a crash."""

    def __init__(self, inner: PrivateSecrets, after: int) -> None:
        self._inner, self._left = inner, after

    async def read(self, name: str) -> bytes | None:
        return await self._inner.read(name)

    async def create(self, name: str, value: bytes) -> bytes:
        self._left -= 1
        if self._left < 0:
            raise UnavailableError("crashed")
        return await self._inner.create(name, value)

    async def replace(self, name: str, old: bytes, new: bytes) -> bytes:
        return await self._inner.replace(name, old, new)

    async def delete(self, name: str) -> None:
        await self._inner.delete(name)


@pytest.mark.parametrize("after", [0, 1])
async def test_a_migration_that_crashed_is_completed_later(plane: Plane, after: int) -> None:
    await plane.client.create(SECRET.path("default"), old_secret(OLD_SECRET, OLD_TYPE, hash=b"scrypt$x"))
    with pytest.raises(UnavailableError):
        await migrate(plane.client, "default", Failing(plane.private, after), [user()])
    assert await plane.private.read(MARK) is None
    await migrate(plane.client, "default", plane.private, [user()])
    assert await plane.private.read(OLD_SECRET) == b"scrypt$x"
    assert await plane.private.read(MARK) is not None


async def test_after_the_migration_a_planted_secret_is_not_a_password(plane: Plane) -> None:
    async with open_face(plane.client, ADMIN) as face:
        await face.nobody.login("admin", "correct horse")
    await declare_old_user(plane)
    planted = old_secret(OLD_SECRET, OLD_TYPE, hash=make_hash("chosen by a tenant", CHEAP).encode())
    await plane.client.create(SECRET.path("default"), planted)
    async with open_face(plane.client, {}) as face:
        told = await face.nobody.post("/auth/login", {"username": "ann", "password": "chosen by a tenant"})
        assert told.status == 401


@pytest.mark.parametrize("name", ["..", "a/b", "A B", "x" * 255, "../../kube-system/secrets/x"])
async def test_a_user_with_any_text_in_place_of_a_name_does_not_stop_the_migration(plane: Plane, name: str) -> None:
    strange = User(metadata=RecordMetadata("ann"), spec=RestUserSpec(password_secret=name))
    await migrate(plane.client, "default", plane.private, [strange])
    assert await plane.private.read(MARK) is not None


async def test_a_secret_of_another_type_is_not_moved(plane: Plane) -> None:
    await plane.client.create(SECRET.path("default"), old_secret(OLD_SECRET, "Opaque", hash=b"scrypt$x"))
    await migrate(plane.client, "default", plane.private, [user()])
    assert await plane.private.read(OLD_SECRET) is None
    assert (await plane.client.get(SECRET.path("default", OLD_SECRET)))["type"] == "Opaque"


async def test_the_hash_of_a_deleted_user_is_deleted(plane: Plane) -> None:
    private = NamespaceSecrets(plane.client, "kube-system")
    async with open_face(plane.client, ADMIN) as face:
        await face.nobody.login("admin", "correct horse")
        path = REST_USER.kind.path("default", "admin")
        name = (await plane.client.get(path))["spec"]["passwordSecret"]
        assert await private.read(name) is not None
        await plane.client.delete(path)
        await eventually(lambda: private.read(name), lambda found: found is None)
