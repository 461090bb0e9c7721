"""The whole operator on a plane: types become kinds, and their resources are reconciled."""

from __future__ import annotations

import json
import logging
import stat
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from homeostat.objects.errors import ApiError
from homeostat.objects.json import JsonObject
from homeostat.operators import actions
from homeostat.plane import Plane
from homeostat.testing.eventually import eventually
from homeostat.testing.plane import open_test_plane
from homeostat.testing.status import check_status, condition_of
from tests.absence import is_gone

TYPES = "/apis/homeostat.dev/v1alpha1/resourcetypes"
NOTES = "/apis/resources.homeostat.dev/v1/namespaces/default/notes"
PROGRAM = """#!{python}
import json, sys
from pathlib import Path
asked = json.load(sys.stdin)
path = Path({world!r}) / asked["name"]
wanted = asked["spec"]["text"]
match sys.argv[1]:
    case "plan":
        print(json.dumps({{"changed": not path.exists() or path.read_text() != wanted}}))
    case "apply":
        path.write_text(wanted)
        print(json.dumps({{"outputs": {{"length": len(wanted)}}, "updated": 1}}))
    case "destroy":
        path.unlink(missing_ok=True)
        print("{{}}")
"""


def note_type(tmp_path: Path, **more: object) -> JsonObject:
    world = tmp_path / "world"
    world.mkdir(exist_ok=True)
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(python=sys.executable, world=str(world)))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    steps = {each: [str(program), each] for each in ("plan", "apply", "destroy")}
    return {
        "apiVersion": "homeostat.dev/v1alpha1",
        "kind": "ResourceType",
        "metadata": {"name": "note"},
        "spec": {
            "name": "Note",
            "version": "v1",
            "schema": {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}},
            "action": {"plugin": "command", "config": steps},
            **more,
        },
    }


def note(name: str, text: str) -> JsonObject:
    return {
        "apiVersion": "resources.homeostat.dev/v1",
        "kind": "Note",
        "metadata": {"name": name},
        "spec": {"text": text},
    }


def is_ready(obj: JsonObject) -> bool:
    return bool(condition_of(obj, "Ready")["status"] == "True")


def open_plane(tmp_path: Path, *, has_guards: bool = True, **settings: str) -> AbstractAsyncContextManager[Plane]:
    environment = {"HOMEOSTAT_ALLOW_PROGRAMS": "true", **settings}
    return open_test_plane(
        tmp_path / "data", actions, has_housekeeping=True, has_guards=has_guards, environment=environment
    )


async def test_a_type_becomes_a_kind_and_its_resources_become_so(tmp_path: Path) -> None:
    async with open_plane(tmp_path) as plane:
        client = plane.client
        await client.create(TYPES, note_type(tmp_path))
        check_status(await eventually(lambda: client.get(f"{TYPES}/note"), is_ready))
        await client.create(NOTES, note("a", "hello"))
        obj = await eventually(lambda: client.get(f"{NOTES}/a"), is_ready)
        check_status(obj)
        assert (tmp_path / "world" / "a").read_text() == "hello"
        assert obj["status"]["outputs"] == {"length": 5}
        await client.merge(f"{NOTES}/a", {"spec": {"text": "good bye"}})
        await eventually((tmp_path / "world" / "a").read_text, lambda text: text == "good bye")


async def test_a_type_in_use_stays_and_its_resources_are_reconciled_until_the_last_is_gone(tmp_path: Path) -> None:
    async with open_plane(tmp_path, has_guards=False) as plane:
        client = plane.client
        await client.create(TYPES, note_type(tmp_path))
        await eventually(lambda: client.get(f"{TYPES}/note"), is_ready)
        await client.create(NOTES, note("a", "hello"))
        await eventually(lambda: client.get(f"{NOTES}/a"), is_ready)
        await client.delete(f"{TYPES}/note")
        await eventually(
            lambda: client.get(f"{TYPES}/note"), lambda obj: condition_of(obj, "Ready")["reason"] == "InUse"
        )
        await client.delete(f"{NOTES}/a")
        await eventually(lambda: is_gone(client, f"{NOTES}/a"))
        assert not (tmp_path / "world" / "a").exists()
        await eventually(lambda: is_gone(client, f"{TYPES}/note"), within_s=30)


async def test_resources_are_released_before_their_kind_is_gone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "homeostat")
    async with open_plane(tmp_path) as plane:
        client = plane.client
        await client.create(TYPES, note_type(tmp_path))
        await eventually(lambda: client.get(f"{TYPES}/note"), is_ready)
        await eventually(lambda: "started controller for kind" in caplog.messages)
        await client.delete(f"{TYPES}/note")
        await eventually(lambda: is_gone(client, f"{TYPES}/note"))
    told = caplog.messages
    assert told.index("stopped controller for kind") < told.index("deleted all instances of definition")
    assert "actions had no effect" not in told


async def test_resources_are_reconciled_when_their_type_changes(tmp_path: Path) -> None:
    async with open_plane(tmp_path) as plane:
        client = plane.client
        broken = note_type(tmp_path)
        good = broken["spec"]["action"]
        broken["spec"]["action"] = {"plugin": "nobody"}
        await client.create(TYPES, broken)
        await eventually(lambda: client.get(f"{TYPES}/note"), is_ready)
        await client.create(NOTES, note("a", "hello"))
        obj = await eventually(
            lambda: client.get(f"{NOTES}/a"), lambda obj: condition_of(obj, "Ready")["status"] == "False"
        )
        assert "nobody" in json.dumps(obj["status"])
        await client.merge(f"{TYPES}/note", {"spec": {"action": good}})
        await eventually(lambda: client.get(f"{NOTES}/a"), is_ready)


async def test_what_is_there_at_the_start_is_reconciled(tmp_path: Path) -> None:
    async with open_plane(tmp_path) as plane:
        await plane.client.create(TYPES, note_type(tmp_path, intervalSeconds=3600))
        await eventually(lambda: plane.client.get(f"{TYPES}/note"), is_ready)
        await plane.client.create(NOTES, note("a", "hello"))
        await eventually(lambda: plane.client.get(f"{NOTES}/a"), is_ready)
    async with open_plane(tmp_path) as plane:
        await plane.client.merge(f"{NOTES}/a", {"spec": {"text": "again"}})
        await eventually((tmp_path / "world" / "a").read_text, lambda text: text == "again")


async def test_a_schema_is_enforced(tmp_path: Path) -> None:
    async with open_plane(tmp_path) as plane:
        await plane.client.create(TYPES, note_type(tmp_path))
        await eventually(lambda: plane.client.get(f"{TYPES}/note"), is_ready)
        wrong = note("a", "x")
        wrong["spec"] = {"text": 7}
        with pytest.raises(ApiError, match=r"spec\.text"):
            await plane.client.create(NOTES, wrong)


async def test_a_start_without_programs_names_the_resources_that_will_fail(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_plane(tmp_path) as plane:
        await plane.client.create(TYPES, note_type(tmp_path))
        await eventually(lambda: plane.client.get(f"{TYPES}/note"), is_ready)
        for name in ("a", "b"):
            await plane.client.create(NOTES, note(name, "hello"))
            await eventually(lambda name=name: plane.client.get(f"{NOTES}/{name}"), is_ready)  # type: ignore[misc]
    with caplog.at_level(logging.WARNING):
        async with open_plane(tmp_path, HOMEOSTAT_ALLOW_PROGRAMS="false"):
            (record,) = await eventually(lambda: _warnings(caplog))
    assert (record.plugin, record.count, record.resources) == ("command", 2, "default/a, default/b")
    assert "--allow-programs" in record.reason


def _warnings(caplog: pytest.LogCaptureFixture) -> list[Any]:
    return [each for each in caplog.records if each.message.startswith("resources will fail")]
