"""Upgrades: this version serves the data of every release, on both stores, and refuses the data of a newer one."""

from __future__ import annotations

import lzma
import re
import sqlite3
import subprocess
import tarfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import asyncpg
import msgspec
import pytest

from homeostat import __version__
from homeostat.client.connect import open_client
from homeostat.client.endpoint.kubeconfig import load_endpoint
from homeostat.objects.errors import ForbiddenError
from homeostat.objects.json import JsonObject
from homeostat.plane import Plane, Settings, open_plane
from tests import archives
from tests.cli.running import HOMEOSTAT
from tests.packaging.recording import RELEASES, Recorded, read_all
from tests.postgres import Postgres, running_postgres

VERSIONS = sorted(each.name for each in RELEASES.iterdir() if each.is_dir())
KEPT = ("spec", "data", "type", "rules", "roleRef", "subjects", "secrets")
WRITTEN = (
    *("/customresourcedefinitions/", "/leases/", "/apiservices/", "/clusterroles/", "/clusterrolebindings/"),
    "/services/kubernetes",
)
"""Each start may write these."""
SETTINGS = "/api/v1/namespaces/kept/configmaps/settings"
LAMP = "/apis/example.com/v1/namespaces/kept/widgets/lamp"


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with running_postgres() as server:
        yield server


def unpack(version: str, place: Path) -> tuple[Path, Recorded]:
    data = place / "data"
    with tarfile.open(RELEASES / version / "data.tar.xz") as archive:
        archives.unpack(archive, data)
    data.chmod(0o700)
    read = lzma.decompress((RELEASES / version / "objects.json.xz").read_bytes())
    return data, msgspec.json.decode(read, type=Recorded)


async def load_dump(server: Postgres, version: str) -> str:
    """The URL of a database of its own with the dump of the release."""
    name = f"d{uuid4().hex}"
    owner = await asyncpg.connect(server.url)
    await owner.execute(f"CREATE DATABASE {name}")
    await owner.close()
    url = server.url_at(server.port).replace("/postgres", f"/{name}")
    dump = lzma.decompress((RELEASES / version / "postgres.sql.xz").read_bytes()).decode()
    loading = await asyncpg.connect(url)
    # Later versions of pg_dump write lines of psql, which are not SQL, and a setting that is new in 17.
    await loading.execute(re.sub(r"^(\\.*|SET transaction_timeout = 0;)$", "", dump, flags=re.MULTILINE))
    await loading.close()
    return url


@asynccontextmanager
async def upgraded(data: Path, database: str | None) -> AsyncIterator[Plane]:
    """A plane of this version on the data of a release, with the operators of this version."""
    async with open_plane(Settings(data=data, port=0, database=database)) as plane:
        yield plane


def kept_parts(path: str, obj: JsonObject) -> JsonObject:
    """What no upgrade may change. Statuses are written by operators, and definitions of ours by each version."""
    metadata = obj["metadata"]
    if any(each in path for each in WRITTEN):
        return {"uid": metadata["uid"]}
    same = {key: metadata.get(key) for key in ("uid", "name", "namespace", "creationTimestamp", "labels")}
    return {**same, **{key: obj.get(key) for key in KEPT}}


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
@pytest.mark.parametrize("version", VERSIONS)
async def test_this_version_serves_the_data_of_a_release(
    version: str, store: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    data, recorded = unpack(version, tmp_path)
    database = await load_dump(request.getfixturevalue("postgres"), version) if store == "postgres" else None
    before: dict[str, JsonObject] = getattr(recorded, store)
    async with upgraded(data, database) as plane:
        after = await read_all(plane.client)
        # Events expire; virtual objects have no uid.
        wanted = {path for path, obj in before.items() if obj["metadata"].get("uid") and "/events/" not in path}
        assert sorted(wanted - after.keys()) == []
        changed = [path for path in wanted if kept_parts(path, after[path]) != kept_parts(path, before[path])]
        assert changed == []

        newest = max(int(each["metadata"].get("resourceVersion") or 0) for each in before.values())
        read = after[SETTINGS]
        written = await plane.client.update(SETTINGS, {**read, "data": {**read["data"], "colour": "blue"}})
        assert int(written["metadata"]["resourceVersion"]) > newest
        await plane.client.merge(LAMP, {"spec": {"size": 4}})
        await plane.client.create(
            "/api/v1/namespaces/kept/secrets", {"metadata": {"name": "new"}, "data": {"a": "Yg=="}}
        )

        ci = replace(load_endpoint([plane.kubeconfig_path]), token=recorded.token, certificate=None, key=None)
        async with open_client(ci) as client:
            assert await client.get("/api/v1/namespaces/kept/pods")
            with pytest.raises(ForbiddenError):
                await client.get(SETTINGS)
    async with upgraded(data, database) as plane:
        assert (await plane.client.get(SETTINGS))["data"]["colour"] == "blue"
        assert (await plane.client.get(LAMP))["spec"] == {"size": 4}


def test_this_version_has_recorded_its_data() -> None:
    assert __version__ in VERSIONS, "run: python -m tests.packaging.recording"


def run(*arguments: str | Path) -> str:
    """What a command that must fail wrote."""
    done = subprocess.run([HOMEOSTAT, *map(str, arguments)], capture_output=True, text=True, timeout=50)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def test_a_downgrade_is_refused_with_what_to_do_and_changes_nothing(tmp_path: Path) -> None:
    data, _ = unpack(VERSIONS[-1], tmp_path)
    database = data / "homeostat.db"
    with closing(sqlite3.connect(database)) as newer:
        newer.execute("PRAGMA user_version = 99")
    before = database.read_bytes()
    said = run("up", "--data", data, "--port", "0", "--faces-port", "0")
    assert f"this is homeostat {__version__}" in said
    assert "schema 99" in said
    assert "restore a backup" in said
    # The same, and not that a start would migrate it.
    assert run("backup", "--data", data, tmp_path / "newer.backup") == said
    assert database.read_bytes() == before
