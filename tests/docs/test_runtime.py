"""What the reference of the runtime shows and says, beyond its tables, is so."""

from __future__ import annotations

import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import ModuleType

import aiohttp
import pytest

from homeostat.client.base import Client
from homeostat.client.projection import Projection
from homeostat.objects import kind as kinds
from homeostat.objects.conditions import READY, RECONCILING
from homeostat.objects.declared import Declared
from homeostat.objects.errors import ConflictError, InvalidError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import CONFIG_MAP, Kind
from homeostat.operators.catalog import load_operator
from homeostat.plane import FaceChoice, Place, Settings, open_plane
from homeostat.testing.eventually import eventually
from homeostat.testing.plane import open_test_plane
from homeostat.testing.status import condition_of
from tests.docs.documents import text_of
from tests.faces import face_url

_RUNTIME = text_of("docs/runtime.md")
_EXAMPLE, _FACE = re.findall(r"^```python\n(.*?)^```$", _RUNTIME, re.MULTILINE | re.DOTALL)


@pytest.fixture
def letters(tmp_path: Path) -> ModuleType:
    file = tmp_path / "letters.py"
    file.write_text(_EXAMPLE)
    return sys.modules[load_operator(str(file)).register.__module__]


@pytest.fixture
async def client(tmp_path: Path, letters: ModuleType) -> AsyncIterator[Client]:
    async with open_test_plane(tmp_path / "data", letters) as plane:
        yield plane.client


async def _write(client: Client, letters: ModuleType, name: str, text_from: str) -> str:
    await client.create(letters.LETTER.path("default"), letters.LETTER.new(name, spec={"textFrom": text_from}))
    path: str = letters.LETTER.path("default", name)
    return path


async def _is(client: Client, path: str, status: str, message: str) -> JsonObject:
    def holds(obj: JsonObject) -> bool:
        ready = condition_of(obj, READY)
        return (ready.get("status"), ready.get("message")) == (status, message)

    return await eventually(lambda: client.get(path), holds)


async def test_the_index_of_the_example_finds_all_that_refer_to_what_changed(
    client: Client, letters: ModuleType
) -> None:
    paths = [await _write(client, letters, name, "verse") for name in ("first", "second")]
    for path in paths:
        waiting = await _is(client, path, "Unknown", 'there is no ConfigMap "verse" yet')
        assert condition_of(waiting, RECONCILING)["status"] == "True"
    await client.create(CONFIG_MAP.path("default"), {"metadata": {"name": "verse"}, "data": {"text": "roses"}})
    for path in paths:
        await _is(client, path, "True", "roses")


async def test_the_rule_of_the_example_is_about_the_whole_object(client: Client, letters: ModuleType) -> None:
    with pytest.raises(InvalidError, match="the text has a name of its own"):
        await _write(client, letters, "verse", "verse")


def _claim(uid: str) -> JsonObject:
    return {"metadata": {"annotations": {"example.dev/claimed-by": uid}}, "data": {"text": "mine"}}


async def test_a_claim_by_apply_is_refused_to_the_second_and_taken_over_by_force(client: Client) -> None:
    notes = Projection(client, CONFIG_MAP, Declared)
    await notes.apply(_claim("1"), "taken", "default", manager="shop-1", is_forced=False)
    with pytest.raises(ConflictError):
        await notes.apply(_claim("2"), "taken", "default", manager="shop-2", is_forced=False)
    same = {"data": {"text": "mine"}}
    await notes.apply(same, "taken", "default", manager="shop-2", is_forced=False)
    await notes.apply(_claim("2"), "taken", "default", manager="shop-2")
    found = await client.get(CONFIG_MAP.path("default", "taken"))
    assert found["metadata"]["annotations"] == {"example.dev/claimed-by": "2"}


async def test_a_patch_of_another_version_than_was_read_is_refused(client: Client) -> None:
    await client.create(CONFIG_MAP.path("default"), {"metadata": {"name": "moving"}})
    seen = await client.get(CONFIG_MAP.path("default", "moving"))
    await client.merge(CONFIG_MAP.path("default", "moving"), {"data": {"by": "another"}})
    version = {"metadata": {"resourceVersion": seen["metadata"]["resourceVersion"]}}
    with pytest.raises(ConflictError):
        await Projection(client, CONFIG_MAP, Declared).patch(version, "moving", "default")


def test_every_kind_that_is_a_constant_is_documented() -> None:
    (row,) = [line for line in _RUNTIME.splitlines() if line.startswith("| `NAMESPACE`")]
    told = set(re.findall(r"`(\w+)`", row.split("|")[1]))
    assert told == {name for name, value in vars(kinds).items() if isinstance(value, Kind)}


async def test_the_face_of_the_example_is_served(tmp_path: Path) -> None:
    file = tmp_path / "greetings.py"
    file.write_text(_FACE)
    faces = FaceChoice(shared=Place("127.0.0.1", 0))
    settings = Settings(data=tmp_path / "data", port=0, is_open=True, operators=frozenset({str(file)}), faces=faces)
    async with open_plane(settings) as plane, aiohttp.ClientSession() as session:
        await plane.client.create(CONFIG_MAP.path("default"), CONFIG_MAP.new("morning"))
        async with session.get(f"{face_url(plane, 'greetings')}/greetings") as answer:
            assert await answer.json() == ["morning"]
