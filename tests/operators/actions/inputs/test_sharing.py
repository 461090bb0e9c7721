"""Inputs beside each other, beside people, and over the deaths of the operator."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from homeostat.objects.json import JsonObject, encode
from homeostat.operators.actions.inputs.api import RESOURCE_INPUT
from homeostat.testing.eventually import eventually
from homeostat.testing.status import condition_of
from tests.external.servers import serving
from tests.operators.actions.inputs.input_plane import InputPlane, opened, thing
from tests.operators.actions.inputs.plugins.test_url import Inventory


@pytest.fixture
async def source() -> AsyncIterator[tuple[Inventory, dict[str, str]]]:
    server = Inventory()
    async with serving(server.answer) as url:
        yield server, {"url": url}


Served = tuple[Inventory, dict[str, str]]


async def test_what_people_change_is_changed_back_and_what_they_add_stays(plane: InputPlane, source: Served) -> None:
    source[0].body = encode([thing("a"), thing("b")])
    await plane.declare_input("one", "url", source[1])
    await plane.reported("one", reason="InSync", applied=2)
    change = {"spec": {"text": "tampered", "size": 7}, "metadata": {"labels": {"mine": "yes"}}}
    await plane.client.merge(plane.path("a"), change)
    await plane.hasten("one")
    await plane.become({"a": "hello", "b": "hello"})
    obj = await plane.client.get(plane.path("a"))
    assert (obj["spec"]["size"], obj["metadata"]["labels"]["mine"]) == (7, "yes")
    await plane.client.delete(plane.path("b"))
    await eventually(plane.things, lambda found: found == {"a": "hello", "b": "hello"}, within_s=30)


async def test_a_field_that_is_declared_no_more_goes(plane: InputPlane, source: Served) -> None:
    source[0].body = encode([thing("a", spec={"text": "x", "size": 5})])
    await plane.declare_input("one", "url", source[1])
    await plane.reported("one", reason="InSync", applied=1)
    source[0].body = encode([thing("a", spec={"text": "x"})])
    await plane.hasten("one")
    await eventually(lambda: plane.client.get(plane.path("a")), lambda obj: obj["spec"]["size"] == 1)


async def test_two_inputs_never_fight_over_a_resource(plane: InputPlane, source: Served) -> None:
    source[0].body = encode([thing("a", "one")])
    other = Inventory()
    async with serving(other.answer) as url:
        other.body = encode([thing("a", "two"), thing("b", "two")])
        await plane.declare_input("one", "url", source[1])
        await plane.reported("one", reason="InSync", applied=1)
        await plane.declare_input("two", "url", {"url": url})
        obj = await plane.reported("two", reason="Incomplete", applied=1, failed=1)
        assert 'belongs to the input "one"' in condition_of(obj, "Ready")["message"]
        version = (await plane.client.get(plane.path("a")))["metadata"]["resourceVersion"]
        other.body = encode([thing("b", "two")])
        await plane.hasten("two")
        await plane.reported("two", reason="InSync", applied=1)
        assert (await plane.client.get(plane.path("a")))["metadata"]["resourceVersion"] == version


async def test_what_was_made_by_hand_is_neither_taken_nor_deleted(plane: InputPlane, source: Served) -> None:
    await plane.client.create(plane.path(), thing("a", "mine"))
    source[0].body = encode([thing("a", "theirs")])
    await plane.declare_input("one", "url", source[1], prune={"maxPercent": 100})
    await plane.reported("one", reason="Incomplete", failed=1)
    source[0].body = b"[]"
    await plane.hasten("one")
    await plane.reported("one", reason="InSync", declared=0)
    assert await plane.things() == {"a": "mine"}


async def test_what_the_server_refuses_is_named_and_the_rest_is_applied(plane: InputPlane, source: Served) -> None:
    slip = thing("b", action={"plguin": "http"})
    source[0].body = encode([thing("a"), slip, thing("c", spec={"text": 1}), {**thing("d"), "kind": "Other"}])
    await plane.declare_input("one", "url", source[1])
    obj = await plane.reported("one", reason="Incomplete", applied=1, failed=3)
    told = " ".join(each["message"] for each in obj["status"]["errors"])
    assert all(word in told for word in ("Thing b: ", "plguin", "Thing c: ", "spec.text", "Other d: no resource type"))
    await plane.declare_type("Other")
    await plane.reported("one", reason="Incomplete", applied=2, failed=2)


async def test_mass_deletion_is_refused_until_it_is_allowed(plane: InputPlane, source: Served) -> None:
    source[0].body = encode([thing(each) for each in "abcd"])
    await plane.declare_input("one", "url", source[1])
    await plane.reported("one", reason="InSync", applied=4)
    source[0].body = encode([thing("a")])
    await plane.hasten("one")
    obj = await plane.reported("one", reason="PruneRefused", pendingDeletions=3)
    assert "more than 50 % of the 4" in condition_of(obj, "Ready")["message"]
    await plane.client.merge(RESOURCE_INPUT.kind.path("default", "one"), {"spec": {"prune": {"maxPercent": 75}}})
    await plane.become({"a": "hello"})


@pytest.mark.parametrize(("policy", "left"), [("Orphan", {"a": "hello"}), ("Delete", {})])
async def test_when_an_input_goes_its_resources_stay_by_default(
    plane: InputPlane, source: Served, policy: str, left: dict[str, str]
) -> None:
    source[0].body = encode([thing("a")])
    await plane.declare_input("one", "url", source[1], deletionPolicy=policy)
    await plane.reported("one", reason="InSync", applied=1)
    path = RESOURCE_INPUT.kind.path("default", "one")
    await plane.client.delete(path)
    await eventually(lambda: plane.is_gone(path))
    await plane.become(left)


async def test_another_process_continues_without_writing_anything(data: Path, tmp_path: Path, source: Served) -> None:
    source[0].body = encode([thing("a"), thing("b")])
    async with opened(data, tmp_path / "operator") as (plane, operator):
        async with operator().running():
            await plane.declare_type()
            await plane.become({})
            await plane.declare_input("one", "url", source[1])
            await plane.reported("one", reason="InSync", applied=2)
        before = {each["metadata"]["name"]: each["metadata"]["generation"] for each in await _things(plane)}
        source[0].body = encode([thing("a"), thing("b", "changed")])
        async with operator().running():
            await plane.become({"a": "hello", "b": "changed"})
        after = {each["metadata"]["name"]: each["metadata"]["generation"] for each in await _things(plane)}
    assert (after["a"], after["b"]) == (before["a"], before["b"] + 1)


async def test_a_broken_wire_to_the_plane_is_survived(plane: InputPlane, source: Served) -> None:
    source[0].body = encode([thing("a")])
    plane.faults.add("things")
    await plane.declare_input("one", "url", source[1])
    obj = await plane.reported("one", reason="Unreachable")
    assert condition_of(obj, "Ready")["status"] == "False"
    plane.faults.clear()
    await plane.become({"a": "hello"})


async def _things(plane: InputPlane) -> list[JsonObject]:
    return (await plane.client.list(plane.path()))[0]
