"""How resources are treated on a plane: apart from each other, a few at a time, and no further than is asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from homeostat.client.base import Client
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.operators.actions.api import FINALIZER, REQUESTED
from homeostat.operators.actions.plugins.plugin import Job
from homeostat.operators.actions.world import Plan
from homeostat.plane import Settings, open_plane
from homeostat.testing.eventually import eventually
from homeostat.testing.status import condition_of
from tests.operators.actions.lifecycle import Here, Life
from tests.operators.actions.things import ShelfConfig, ShelfPlugin, Things, managed

EXTERNAL = "example.dev/external"


@pytest.fixture
async def client(data: Path) -> AsyncIterator[Client]:
    async with open_plane(Settings(data=data, port=0, operators=frozenset())) as plane:
        yield plane.client


def is_ready(obj: JsonObject) -> bool:
    return condition_of(obj, "Ready").get("status") == "True"


async def made(client: Client, things: Things, *objects: JsonObject) -> None:
    for each in objects:
        await client.create(things.path(), each)
    for each in objects:
        name = each["metadata"]["name"]
        await eventually(lambda name=name: client.get(things.path(name)), is_ready)  # type: ignore[misc]


async def test_what_is_as_declared_is_not_applied(client: Client, tmp_path: Path) -> None:
    plugin = ShelfPlugin()
    plugin.things["one"] = "hello"
    things = Things("shelf", {}, tmp_path, shelf=plugin)
    async with managed(client, things):
        await made(client, things, things.thing("one"))
    assert plugin.applies == 0


async def test_the_finalizers_of_others_hold_a_resource_that_is_destroyed(client: Client, tmp_path: Path) -> None:
    plugin = ShelfPlugin()
    things = Things("shelf", {}, tmp_path, shelf=plugin)
    async with managed(client, things):
        thing = things.thing("one")
        thing["metadata"]["finalizers"] = [EXTERNAL]
        await made(client, things, thing)
        assert (await client.get(things.path("one")))["metadata"]["finalizers"] == [EXTERNAL, FINALIZER]
        await client.delete(things.path("one"))
        obj = await eventually(
            lambda: client.get(things.path("one")), lambda obj: obj["metadata"]["finalizers"] == [EXTERNAL]
        )
        assert (plugin.things, obj["status"]["isDestroyed"], obj["status"]["phase"]) == ({}, True, "deleting")
        await client.merge(things.path("one"), {"metadata": {"finalizers": None}})
        with pytest.raises(NotFoundError):
            await client.get(things.path("one"))


async def test_a_destruction_that_fails_keeps_the_finalizer(client: Client, tmp_path: Path) -> None:
    plugin = ShelfPlugin()
    things = Things("shelf", {}, tmp_path, shelf=plugin)
    async with managed(client, things):
        await made(client, things, things.thing("one"))
        plugin.trouble = "stuck"
        await client.delete(things.path("one"))
        obj = await eventually(lambda: client.get(things.path("one")), lambda obj: obj["status"].get("retries") == 1)
        assert obj["metadata"]["finalizers"] == [FINALIZER]


class CrowdedShelf(ShelfPlugin):
    """Each look takes a while, and it counts how many there are at a time."""

    now = most = 0

    async def plan(self, job: Job[ShelfConfig]) -> Plan:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.03)
        self.now -= 1
        return await super().plan(job)


@pytest.mark.parametrize("concurrency", [1, 2])
async def test_no_more_resources_are_reconciled_together_than_allowed(
    client: Client, tmp_path: Path, concurrency: int
) -> None:
    plugin = CrowdedShelf()
    things = Things("shelf", {}, tmp_path, shelf=plugin)
    things.concurrency = concurrency
    async with managed(client, things):
        await made(client, things, *(things.thing(f"t{number}") for number in range(5)))
    assert (plugin.most, len(plugin.things)) == (concurrency, 5)


class MoodyShelf(ShelfPlugin):
    async def plan(self, job: Job[ShelfConfig]) -> Plan:
        if job.name == "bad":
            raise RuntimeError("this one never works")
        return await super().plan(job)


async def test_a_resource_that_breaks_its_plugin_does_not_stop_the_others(client: Client, tmp_path: Path) -> None:
    plugin = MoodyShelf()
    things = Things("shelf", {}, tmp_path, shelf=plugin)
    things.concurrency = 1
    async with managed(client, things):
        await client.create(things.path(), things.thing("bad"))
        await made(client, things, things.thing("good"))
        bad = await eventually(lambda: client.get(things.path("bad")), lambda obj: "status" in obj)
        assert bad["status"]["message"] == "PluginBroke: RuntimeError: this one never works"


async def test_the_configuration_of_one_resource_is_not_that_of_another(client: Client, tmp_path: Path) -> None:
    plugin = ShelfPlugin()
    things = Things("shelf", {"prefix": "> "}, tmp_path, shelf=plugin)
    async with managed(client, things):
        own = things.thing("own", action={"config": {"prefix": "# "}})
        await made(client, things, own, things.thing("usual"))
    assert plugin.things == {"own": "# hello", "usual": "> hello"}


async def test_a_request_does_not_wait_for_the_interval(client: Client, tmp_path: Path) -> None:
    plugin = ShelfPlugin()
    things = Things("shelf", {}, tmp_path, shelf=plugin)
    async with managed(client, things):
        await made(client, things, things.thing("one"))
        plans = plugin.plans
        await client.merge(things.path("one"), {"metadata": {"annotations": {REQUESTED: "1"}}})
        await eventually(lambda: plugin.plans > plans)


async def test_two_types_may_have_resources_of_one_name(client: Client, tmp_path: Path) -> None:
    first, second = ShelfPlugin(), ShelfPlugin()
    things = Things("shelf", {}, tmp_path, shelf=first)
    others = Things("shelf", {}, tmp_path, type_name="Other", shelf=second)
    async with managed(client, things), managed(client, others):
        await made(client, things, things.thing("one"))
        await made(client, others, others.thing("one", "another"))
    assert (first.things, second.things) == ({"one": "hello"}, {"one": "another"})


def times(life: Life) -> dict[str, str | None]:
    return {each.type: each.last_transition_time for each in life.status.conditions}


def test_a_condition_keeps_its_time_until_it_turns() -> None:
    plugin = Here()
    life = Life(plugin)
    life.settle()
    before = times(life)
    life.now += timedelta(minutes=6)
    life.settle()
    assert times(life) == before
    plugin.failures = 1
    life.now += timedelta(minutes=6)
    life.settle()
    after = times(life)
    assert {name for name in after if after[name] != before[name]} == {"Ready", "Degraded"}
