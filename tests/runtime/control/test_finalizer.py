"""Finalizers: planned as data, and written to a real plane."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.client.projection import Projection
from homeostat.objects.errors import ConflictError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import CONFIG_MAP
from homeostat.objects.patch.json import merge_patch
from homeostat.plane import Settings, open_plane
from homeostat.runtime.control.finalizer import add_finalizer, plan_addition, plan_removal, remove_finalizer
from homeostat.runtime.control.status import Snapshot

OURS = "homeostat.example/cleanup"
THEIRS = "other.example/keep"
names = st.lists(st.sampled_from([THEIRS, "other.example/a", "other.example/b", OURS]), max_size=5, unique=True)


def held(*finalizers: str) -> JsonObject:
    return {"metadata": {"name": "c", "resourceVersion": "7", "finalizers": list(finalizers)}}


def snapshot_of(obj: JsonObject) -> Snapshot:
    return msgspec.convert(obj, Snapshot)


def others(finalizers: list[str]) -> list[str]:
    return [each for each in finalizers if each != OURS]


@given(names)
def test_adding_leaves_the_others_as_they_are_and_is_done_once(finalizers: list[str]) -> None:
    obj = held(*finalizers)
    after = merge_patch(obj, plan_addition(snapshot_of(obj), OURS) or {})
    assert after["metadata"]["finalizers"].count(OURS) == 1
    assert others(after["metadata"]["finalizers"]) == others(finalizers)
    assert plan_addition(snapshot_of(after), OURS) is None


@given(names)
def test_removing_leaves_the_others_as_they_are_and_is_done_once(finalizers: list[str]) -> None:
    obj = held(*finalizers)
    after = merge_patch(obj, plan_removal(snapshot_of(obj), OURS) or {})
    assert after["metadata"]["finalizers"] == others(finalizers)
    assert plan_removal(snapshot_of(after), OURS) is None


def test_a_terminating_object_gets_no_finalizer() -> None:
    metadata = {"name": "c", "resourceVersion": "7", "deletionTimestamp": "2026-05-04T12:00:00Z"}
    assert plan_addition(snapshot_of({"metadata": metadata}), OURS) is None


def test_without_a_version_nothing_is_planned() -> None:
    with pytest.raises(ValueError, match="resourceVersion"):
        plan_addition(snapshot_of({"metadata": {"name": "c"}}), OURS)


@pytest.fixture
async def objects(data: Path) -> AsyncIterator[Projection[Snapshot]]:
    async with open_plane(Settings(data=data, port=0, operators=frozenset())) as plane:
        yield Projection(plane.client, CONFIG_MAP, Snapshot)


async def created(objects: Projection[Snapshot], *finalizers: str) -> Snapshot:
    return await objects.create({"metadata": {"name": "c", "finalizers": list(finalizers)}}, "default")


async def test_an_object_stays_until_its_finalizer_is_removed(objects: Projection[Snapshot]) -> None:
    added = await add_finalizer(objects, await created(objects), OURS)
    assert added.metadata.finalizers == (OURS,)
    await objects.delete("c", "default")
    terminating = await objects.get("c", "default")
    assert terminating.metadata.deletion_timestamp is not None
    await remove_finalizer(objects, terminating, OURS)
    with pytest.raises(NotFoundError):
        await objects.get("c", "default")


async def test_a_finalizer_that_is_there_is_not_written_again(objects: Projection[Snapshot]) -> None:
    seen = await created(objects, THEIRS, OURS)
    assert await add_finalizer(objects, seen, OURS) is seen
    assert await objects.get("c", "default") == seen


async def test_a_finalizer_added_meanwhile_is_not_lost(objects: Projection[Snapshot]) -> None:
    seen = await created(objects, OURS)
    await add_finalizer(objects, seen, THEIRS)
    with pytest.raises(ConflictError):
        await remove_finalizer(objects, seen, OURS)
    removed = await remove_finalizer(objects, await objects.get("c", "default"), OURS)
    assert removed is not None
    assert removed.metadata.finalizers == (THEIRS,)


async def test_a_finalizer_removed_meanwhile_does_not_come_back(objects: Projection[Snapshot]) -> None:
    seen = await created(objects, THEIRS)
    await remove_finalizer(objects, seen, THEIRS)
    with pytest.raises(ConflictError):
        await add_finalizer(objects, seen, OURS)
    assert (await objects.get("c", "default")).metadata.finalizers == ()


async def test_releasing_a_deleted_object_is_not_an_error(objects: Projection[Snapshot]) -> None:
    seen = await created(objects, OURS)
    await objects.delete("c", "default")
    await remove_finalizer(objects, await objects.get("c", "default"), OURS)
    assert await remove_finalizer(objects, seen, OURS) is None
