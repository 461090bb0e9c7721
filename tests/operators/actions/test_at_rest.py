"""What a plane leaves on disk of resources: nothing that somebody else on the machine, or with a copy, can read."""

from __future__ import annotations

import asyncio
import os
import stat
from contextlib import suppress
from pathlib import Path

from homeostat.external.files import make_private, replace_private_file
from homeostat.external.git.access import Remote
from homeostat.external.git.cache import GitCache
from homeostat.external.git.errors import GitError
from homeostat.external.git.lock import file_lock
from homeostat.operators.actions.api import RESOURCE_TYPE
from homeostat.plane import Settings, open_plane
from homeostat.testing.eventually import eventually
from homeostat.testing.status import condition_of

LITERAL = "a-literal-token-in-a-configuration"
PASSWORD = "a-password-in-a-spec"


async def test_literal_secrets_are_sealed_in_the_database(tmp_path: Path) -> None:
    data = tmp_path / "plane"
    data.mkdir(mode=0o700)
    schema = {"type": "object", "properties": {"pin": {"type": "string", "format": "password"}}}
    config = {"url": "http://127.0.0.1:9/", "item": "http://127.0.0.1:9/", "headers": {"Authorization": LITERAL}}
    spec = {"name": "Safe", "schema": schema, "action": {"plugin": "http", "config": config}}
    async with open_plane(Settings(data=data, port=0, operators=frozenset({"actions"}))) as plane:
        kind = RESOURCE_TYPE.kind
        declared = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "safe"}, "spec": spec}
        path = kind.path("", "safe")

        async def create() -> bool:
            try:
                await plane.client.create(kind.path(""), declared)
            except Exception:
                return False
            return True

        await eventually(create, bool)
        await eventually(lambda: plane.client.get(path), lambda obj: condition_of(obj, "Ready").get("status") == "True")
        resource = {
            "apiVersion": "resources.homeostat.dev/v1",
            "kind": "Safe",
            "metadata": {"name": "one"},
            "spec": {"pin": PASSWORD},
        }
        await plane.client.create("/apis/resources.homeostat.dev/v1/namespaces/default/safes", resource)
        assert (await plane.client.get(path))["spec"]["action"]["config"]["headers"] == {"Authorization": LITERAL}
    stored = b"".join(each.read_bytes() for each in data.rglob("*") if each.is_file())
    assert b"resourcetypes.homeostat.dev" in stored
    assert LITERAL.encode() not in stored
    assert PASSWORD.encode() not in stored
    # Sealed is not lost.
    async with open_plane(Settings(data=data, port=0, operators=frozenset())) as plane:
        found = await plane.client.get("/apis/resources.homeostat.dev/v1/namespaces/default/safes/one")
        assert found["spec"] == {"pin": PASSWORD}


async def test_directories_of_operators_are_for_their_user_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        for at, create in enumerate((make_private, _locked, _kept, _cached)):
            wanted = tmp_path / str(at) / "operators" / "sync" / "uid"
            for _ in range(2):
                await asyncio.to_thread(create, wanted)
            for each in (wanted, wanted.parent, wanted.parent.parent, wanted.parent.parent.parent):
                assert stat.S_IMODE(each.stat().st_mode) == 0o700, (create, each)
    finally:
        os.umask(before)


def _locked(directory: Path) -> None:
    async def lock() -> None:
        async with file_lock(directory / "lock", timeout_s=1):
            pass

    asyncio.run(lock())


def _kept(directory: Path) -> None:
    replace_private_file(directory / "file", b"")


def _cached(directory: Path) -> None:
    with suppress(GitError):
        asyncio.run(GitCache(directory).resolve(Remote("http://127.0.0.1:9/x.git")))


async def test_a_directory_that_was_open_to_others_is_closed_at_the_start(tmp_path: Path) -> None:
    data = tmp_path / "plane"
    (data / "operators").mkdir(parents=True)
    data.chmod(0o700)
    (data / "operators").chmod(0o755)
    async with open_plane(Settings(data=data, port=0, operators=frozenset({"actions"}))):
        assert stat.S_IMODE((data / "operators").stat().st_mode) == 0o700
