"""The book follows types and their resources on a real plane, and everything in it has a number of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from homeostat.client.base import Client
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import CONFIG_MAP
from homeostat.operators.actions.api import ID, RESOURCE_TYPE
from homeostat.testing.eventually import eventually
from homeostat.web.actions.index.changes import ResourceChange
from homeostat.web.actions.index.index import ResourceIndex
from homeostat.web.actions.index.numbering import number_objects
from homeostat.web.kit.records.ids import COUNTERS, LARGEST_FLOOR, Ids

NOTES = "/apis/resources.homeostat.dev/v1/namespaces/default/notes"


def note_type(name: str = "Note", version: str = "v1") -> JsonObject:
    return {
        "apiVersion": RESOURCE_TYPE.kind.api_version,
        "kind": "ResourceType",
        "metadata": {"name": f"{name.lower()}-{version}"},
        "spec": {"name": name, "version": version, "action": {"plugin": "shelf"}},
    }


def note(name: str, **labels: str) -> JsonObject:
    return {
        "apiVersion": "resources.homeostat.dev/v1",
        "kind": "Note",
        "metadata": {"name": name, "labels": labels},
        "spec": {"text": name},
    }


@asynccontextmanager
async def followed(client: Client, *, gives_numbers: bool = True) -> AsyncIterator[ResourceIndex]:
    index = ResourceIndex(client, namespace="default")
    ids = Ids(client, namespace="default", floor=index.highest)  # type: ignore[arg-type]
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(index.run())]
        if gives_numbers:
            running.append(tasks.create_task(number_objects(client, index, ids)))
        await index.synced()
        yield index
        for each in running:
            each.cancel()


@pytest.fixture
async def index(client: Client) -> AsyncIterator[ResourceIndex]:
    async with followed(client) as index:
        await client.create(RESOURCE_TYPE.kind.path(""), note_type())
        await eventually(lambda: index.find_type(1) is not None and index.is_served(index.types()[0]))
        yield index


def names(index: ResourceIndex) -> list[str]:
    return [each.entry.metadata.name for each in index.newest()]


async def create(client: Client, name: str, **labels: Any) -> JsonObject:
    return await client.create(NOTES, note(name, **labels))


async def test_what_comes_by_kubectl_gets_a_number_and_is_found_by_it(client: Client, index: ResourceIndex) -> None:
    await create(client, "one")
    await eventually(lambda: names(index) == ["one"])
    await create(client, "two")
    await eventually(lambda: names(index) == ["two", "one"])
    held = index.find(2)
    assert held is not None
    assert held.path == f"{NOTES}/two"
    assert index.find_named("Note", "v1", "two") is not None
    assert index.find_named("Note", "v2", "two") is None
    assert (await client.get(held.path))["metadata"]["labels"][ID] == "2"
    resource_type = index.type_of(held)
    assert resource_type is not None
    assert resource_type == index.type_named("Note", "v1") == index.find_type(1)


async def test_a_copied_number_is_given_to_one_only(client: Client, index: ResourceIndex) -> None:
    await create(client, "one")
    await eventually(lambda: names(index) == ["one"])
    await create(client, "copy", **{ID: "1"})
    await eventually(lambda: sorted(names(index)) == ["copy", "one"])
    items, _ = await client.list(NOTES)
    assert sorted(each["metadata"]["labels"][ID] for each in items) == ["1", "2"]


async def test_a_number_that_is_taken_away_comes_back(client: Client, index: ResourceIndex) -> None:
    await create(client, "one")
    await eventually(lambda: names(index) == ["one"])
    await client.merge(f"{NOTES}/one", {"metadata": {"labels": None}})
    await eventually(lambda: client.get(f"{NOTES}/one"), lambda obj: obj["metadata"].get("labels") == {ID: "1"})


async def test_what_is_no_number_is_replaced(client: Client, index: ResourceIndex) -> None:
    labels = ("0", "007", "x", "a-1")
    for at, label in enumerate(labels):
        await create(client, f"n{at}", **{ID: label})
    await eventually(lambda: len(names(index)) == len(labels))


async def test_three_servers_never_give_one_number_twice(client: Client, index: ResourceIndex) -> None:
    async with followed(client) as second, followed(client) as third:
        await asyncio.gather(*(create(client, f"n{at}") for at in range(20)))
        await eventually(lambda: {len(names(each)) for each in (index, second, third)} == {20})
        items, _ = await client.list(NOTES)
        assert len({each["metadata"]["labels"][ID] for each in items}) == 20


async def test_numbers_continue_where_the_counters_were_lost(client: Client, index: ResourceIndex) -> None:
    await create(client, "one")
    await eventually(lambda: names(index) == ["one"])
    await client.delete(CONFIG_MAP.path("default", COUNTERS))
    await create(client, "two")
    await eventually(lambda: names(index) == ["two", "one"])


async def test_a_label_cannot_use_up_the_numbers(client: Client, index: ResourceIndex) -> None:
    await create(client, "hostile", **{ID: "9" * 15})
    await eventually(lambda: names(index) == ["hostile"])
    for name in ("one", "two"):
        await create(client, name)
    await eventually(lambda: len(names(index)) == 3)
    items, _ = await client.list(NOTES)
    numbers = {each["metadata"]["name"]: int(each["metadata"]["labels"][ID]) for each in items}
    assert (numbers["one"], numbers["two"]) == (LARGEST_FLOOR + 1, LARGEST_FLOOR + 2)


async def test_changes_are_delivered_after_the_book_holds_them(client: Client, index: ResourceIndex) -> None:
    told: list[tuple[str, bool]] = []

    def note_change(change: ResourceChange) -> None:
        held = change.new or change.old
        assert held is not None
        kind = "new" if change.old is None else "gone" if change.new is None else "changed"
        told.append((kind, index.find(held.entry.number) == change.new))
        revisions.append(change.revision)

    revisions: list[int] = []
    stop = index.subscribe(note_change)
    await create(client, "one", **{ID: "7"})
    await eventually(lambda: told)
    await client.delete(f"{NOTES}/one")
    await eventually(lambda: told[-1][0] == "gone")
    assert told[0] == ("new", True)
    assert all(holds for _, holds in told)
    assert revisions == sorted(revisions)
    stop()
    count = len(told)
    await create(client, "two")
    await eventually(lambda: names(index) == ["two"])
    assert len(told) == count


async def test_a_type_that_goes_takes_its_resources_from_the_book(client: Client, index: ResourceIndex) -> None:
    await create(client, "one")
    await eventually(lambda: names(index) == ["one"])
    await client.delete(f"{NOTES}/one")
    await eventually(lambda: names(index) == [])
    await client.delete(RESOURCE_TYPE.kind.path("", "note-v1"))
    await eventually(lambda: index.types() == [])
    await client.create(RESOURCE_TYPE.kind.path(""), note_type("Page"))
    await eventually(lambda: index.types() and index.is_served(index.types()[0]))
    assert index.find_type(2) == index.type_named("Page", "v1")


async def test_numbers_taken_together_are_one_write_and_never_the_same(client: Client) -> None:
    first, second = Ids(client, namespace="default"), Ids(client, namespace="default")
    taken = await asyncio.gather(*(each.take("users") for each in (first, second) for _ in range(30)))
    assert sorted(taken) == list(range(1, 61))
    block = await first.take_block("users", 10)
    assert await second.take("users") == block + 10
    assert await second.take("roles") == 1
