"""When inputs are reconciled at all, and what remains of deleted ones."""

from __future__ import annotations

from importlib import metadata
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from homeostat.objects.errors import InvalidError
from homeostat.objects.json import decode
from homeostat.operators.actions.inputs.api import RESOURCE_INPUT
from homeostat.operators.actions.inputs.plugins.reading import Reading
from homeostat.testing.eventually import eventually
from homeostat.testing.status import condition_of
from tests.operators.actions.inputs.input_plane import InputPlane, opened
from tests.operators.actions.inputs.test_operator import ONE, Notes


class Diary(Notes):
    """As a package would bring it."""

    def __init__(self, tools: object) -> None:
        super().__init__(*[Reading(revision="1", declarations=(ONE,))] * 99)


async def test_a_package_brings_an_input_by_an_entry_point(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = EntryPoint("diary", f"{__name__}:Diary", "homeostat.inputs")
    monkeypatch.setattr(metadata, "entry_points", lambda *, group: [point] if group == "homeostat.inputs" else [])
    async with opened(data, tmp_path) as (plane, operator), operator().running():
        await plane.declare_type()
        await plane.declare_input("mine", "diary", {})
        await plane.become({"a": "x"})


async def test_only_plugins_that_are_enabled_are_there(data: Path, tmp_path: Path) -> None:
    async with opened(data, tmp_path) as (plane, operator), operator(ENABLED_INPUT_PLUGINS="url, amqp").running():
        await plane.declare_input("mine", "git", {"url": "https://127.0.0.1:1/x"})
        obj = await eventually(lambda: plane.input("mine"), lambda obj: condition_of(obj, "Stalled"))
        assert "git" in condition_of(obj, "Ready")["message"]


async def test_what_an_input_left_on_disk_goes_with_it(data: Path, tmp_path: Path) -> None:
    async with opened(data, tmp_path) as (plane, operator), operator().running():
        await plane.declare_input("mine", "git", {"url": "http://127.0.0.1:1/x"})
        await plane.reported("mine", reason="RepositoryUnreachable")
        kept = tmp_path / "actions" / "inputs" / (await plane.input("mine"))["metadata"]["uid"]
        await eventually(kept.is_dir)
        await plane.client.delete(RESOURCE_INPUT.kind.path("default", "mine"))
        await eventually(lambda: not kept.exists())


@pytest.mark.parametrize(
    ("name", "spec"), [("a" * 64, {}), ("a", {"intervalSeconds": 0}), ("a", {"prune": {"maxPercent": 101}})]
)
async def test_an_input_that_cannot_be_is_refused(plane: InputPlane, name: str, spec: dict[str, object]) -> None:
    with pytest.raises(InvalidError):
        await plane.declare_input(name, "git", {}, **spec)


async def test_the_columns_of_an_invalid_input_say_why(plane: InputPlane) -> None:
    await plane.declare_input("odd", "url", {"addres": "https://example.com/"})
    await plane.reported("odd", reason="InvalidConfig")
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    table = decode(await plane.client.fetch("GET", RESOURCE_INPUT.kind.path("default"), accept=accept))
    names = [each["name"] for each in table["columnDefinitions"] if not each.get("priority")]
    cells = table["rows"][0]["cells"]
    row = dict(zip((each["name"] for each in table["columnDefinitions"]), cells, strict=True))
    assert {"Ready", "Reason", "Message"} <= set(names)
    assert (row["Ready"], row["Reason"]) == ("False", "InvalidConfig")
    assert "addres" in row["Message"]
