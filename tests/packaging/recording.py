"""Records a data directory and a PostgreSQL schema of this version, for the tests of later versions.

    python -m tests.packaging.recording

Writes `tests/packaging/releases/VERSION`: `data.tar.xz`, the data directory of a plane on SQLite with all its keys,
which nothing else uses; `postgres.sql.xz`, the dump of one with the same keys on PostgreSQL; and `objects.json.xz`, the
objects that clients of each read. Run it once for a release, and commit it.
"""

from __future__ import annotations

import asyncio
import io
import lzma
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import msgspec

from homeostat import __version__
from homeostat.client.base import Client
from homeostat.client.discovery import fetch_kinds
from homeostat.objects.json import JsonObject
from homeostat.plane import Settings, open_plane
from homeostat.testing.eventually import eventually
from tests.cli.running import HOMEOSTAT
from tests.postgres import Postgres, find_programs, running_postgres

RELEASES = Path(__file__).with_name("releases")
_SCHEMA = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
_WIDGETS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": _SCHEMA}}],
    },
}


def _one(version: str, kind: str, name: str, **body: object) -> JsonObject:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "kept"}, **body}


_LABELS = {"app": "web"}
_POD = {"metadata": {"labels": _LABELS}, "spec": {"containers": [{"name": "main", "image": "nginx:1.29"}]}}
_RULE = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}
_GROUP = "rbac.authorization.k8s.io"
_CONTRACT = "pactoVersion: '1.2'\nservice: {name: web, version: 1.0.0}\n"
_NOTE = {"name": "Note", "version": "v1", "schema": {"type": "object"}, "action": {"plugin": "stateful"}}
OBJECTS: tuple[JsonObject, ...] = (
    _one("v1", "ConfigMap", "settings", data={"colour": "green", "sign": "é"}),
    _one("v1", "Secret", "word", stringData={"password": "kept and sealed"}),
    _one("v1", "ServiceAccount", "robot"),
    _one("v1", "Service", "web", spec={"selector": _LABELS, "ports": [{"port": 80}]}),
    _one("apps/v1", "Deployment", "web", spec={"selector": {"matchLabels": _LABELS}, "template": _POD}),
    _one(f"{_GROUP}/v1", "Role", "reader", rules=[_RULE]),
    _one(
        f"{_GROUP}/v1",
        "RoleBinding",
        "reader",
        roleRef={"apiGroup": _GROUP, "kind": "Role", "name": "reader"},
        subjects=[{"kind": "User", "name": "ci", "apiGroup": _GROUP}],
    ),
    _one("example.com/v1", "Widget", "lamp", spec={"size": 3}),
    _one("devops.stochastic.io/v1", "DevOpsPolicy", "probes", spec={"requireLivenessProbe": True}),
    _one("pacto.trianalab.io/v1alpha1", "Pacto", "web", spec={"contractRef": {"inline": _CONTRACT}, "target": {}}),
    {"apiVersion": "homeostat.dev/v1alpha1", "kind": "ResourceType", "metadata": {"name": "note-v1"}, "spec": _NOTE},
)


class Recorded(msgspec.Struct, frozen=True):
    """What clients of a release read, by store and path; and the bearer token of the user `ci`."""

    version: str
    token: str
    sqlite: dict[str, JsonObject]
    postgres: dict[str, JsonObject]


async def fill(client: Client) -> dict[str, JsonObject]:
    """Creates an object of each sort, and returns all objects of the plane by path."""
    await client.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", _WIDGETS)
    await client.create("/api/v1/namespaces", {"metadata": {"name": "kept"}})
    await eventually(lambda: client.get("/apis/example.com/v1/widgets"))
    kinds = {(each.api_version, each.kind): each for each in await fetch_kinds(client)}
    for obj in OBJECTS:
        kind, metadata = kinds[obj["apiVersion"], obj["kind"]], obj["metadata"]
        await client.create(kind.path(metadata.get("namespace", "")), obj)
    await asyncio.sleep(2)  # for statuses that operators write
    return await read_all(client)


async def read_all(client: Client) -> dict[str, JsonObject]:
    found: dict[str, JsonObject] = {}
    for kind in await fetch_kinds(client):
        if "list" not in kind.verbs:
            continue
        items, _ = await client.list(kind.path(""))
        for each in items:
            metadata = each["metadata"]
            found[kind.path(metadata.get("namespace", ""), metadata["name"])] = each
    return found


async def _record(settings: Settings) -> dict[str, JsonObject]:
    async with open_plane(settings) as plane:
        return await fill(plane.client)


def _token(data: Path) -> str:
    command = [HOMEOSTAT, "token", "create", "ci", "--ttl", "never", "--data", str(data)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=30).stdout.strip()


def _dump(server: Postgres) -> bytes:
    options = ["--no-owner", "--no-privileges", "--inserts", "--schema", "homeostat", server.url_at(server.port)]
    command = [str(find_programs() / "pg_dump"), *options]
    environment = {"PATH": os.environ["PATH"]}
    return subprocess.run(command, check=True, capture_output=True, timeout=60, env=environment).stdout


def _pack(data: Path) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:xz") as archive:
        for each in sorted(data.rglob("*")):
            archive.add(each, each.relative_to(data), recursive=False)
    return made.getvalue()


def main() -> None:
    place = RELEASES / __version__
    if place.exists():
        sys.exit(f"{place} exists; the data of a release does not change")
    with tempfile.TemporaryDirectory() as folder, running_postgres() as server:
        data = Path(folder) / "data"
        data.mkdir(mode=0o700)
        on_postgres = asyncio.run(_record(Settings(data=data, port=0, database=server.url_at(server.port))))
        on_sqlite = asyncio.run(_record(Settings(data=data, port=0)))
        recorded = Recorded(__version__, _token(data), on_sqlite, on_postgres)
        place.mkdir(parents=True)
        (place / "data.tar.xz").write_bytes(_pack(data))
        (place / "postgres.sql.xz").write_bytes(lzma.compress(_dump(server), preset=9))
        (place / "objects.json.xz").write_bytes(lzma.compress(msgspec.json.encode(recorded), preset=9))


if __name__ == "__main__":
    main()
