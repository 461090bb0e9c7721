"""Informers on a real plane."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from homeostat.client.base import Client
from homeostat.objects.json import JsonObject
from homeostat.plane import Plane, Settings, open_plane
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.cache.index import by_label
from homeostat.runtime.cache.informer import Informer, Informers
from homeostat.runtime.watch.source import Source
from tests.runtime.faulty import CONFIG_MAPS, QUICK, FaultyTransport, Mirror, agree, eventually, remove, write
from tests.runtime.projections import Metadata, Pod

ALL = Source("/api/v1/configmaps")


class Data(msgspec.Struct, frozen=True, gc=False):
    text: str = ""


class Note(msgspec.Struct, frozen=True, gc=False):
    metadata: Metadata
    data: Data


@pytest.fixture
async def plane(data: Path) -> AsyncIterator[Plane]:
    async with open_plane(Settings(data=data, port=0, operators=frozenset())) as plane:
        yield plane


@asynccontextmanager
async def running(informers: Informers) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(informers.run())
        yield
        task.cancel()


def config_map(name: str, **labels: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}}


def names(informer: Informer[Pod]) -> list[str]:
    return sorted(each.metadata.name for each in informer.cache)


async def test_all_who_ask_for_the_same_objects_share_one_watch(plane: Plane) -> None:
    transport = FaultyTransport(plane.client._transport)
    informers = Informers(Client(transport))
    first = informers.get(ALL, Pod)
    async with running(informers):
        await informers.synced()
        second = informers.get(Source("/api/v1/configmaps"), Pod, {"app": by_label("app")})
        other = informers.get(Source("/api/v1/configmaps", label_selector="app=web"), Pod)
        await informers.synced()
        await plane.client.create(CONFIG_MAPS, config_map("web", app="web"))
        await plane.client.create(CONFIG_MAPS, config_map("db", app="db"))

        async def is_told() -> bool:
            return first.cache.indexed_names("app", "db") == [("default", "db")]

        await eventually(is_told)
        assert (first is second, transport.streams, len(list(informers))) == (True, 2, 2)
        assert names(other) == ["web"]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param(Source("/api/v1/namespaces/shop/configmaps"), ["web"], id="namespace"),
        pytest.param(Source("/api/v1/configmaps", label_selector="app in (db)"), ["db"], id="labels"),
        pytest.param(Source("/api/v1/configmaps", field_selector="metadata.name=web"), ["web"], id="fields"),
    ],
)
async def test_the_server_selects(plane: Plane, source: Source, expected: list[str]) -> None:
    client = plane.client
    await client.create("/api/v1/namespaces", {"metadata": {"name": "shop"}})
    transport = FaultyTransport(client._transport)
    seen: list[bytes] = []
    transport.bend = lambda line: seen.append(line) or [line]  # type: ignore[func-returns-value]
    informers = Informers(Client(transport))
    informer = informers.get(source, Pod)
    async with running(informers):
        await informer.synced()
        await client.create("/api/v1/namespaces/shop/configmaps", config_map("web"))
        await client.create(CONFIG_MAPS, config_map("db", app="db"))

        async def is_told() -> bool:
            return names(informer) == expected

        await eventually(is_told)
    assert sum(b'"ADDED"' in line for line in seen) == 1


async def test_the_cache_holds_a_change_before_it_is_delivered(plane: Plane) -> None:
    informers = Informers(plane.client)
    informer = informers.get(Source(CONFIG_MAPS), Pod)
    mirror = Mirror(informer)
    told: list[bool] = []
    informer.add_handler(lambda change: told.append(informer.cache.get(change.namespace, change.name) is change.new))
    await write(plane.client, "there")
    async with running(informers):
        await informer.synced()
        assert list(mirror.versions) == ["there"]
        await write(plane.client, "a")
        await write(plane.client, "a", "changed")
        await remove(plane.client, "there")
        await agree(mirror, plane.client)
    assert told == [True] * 4


async def test_a_late_handler_gets_what_is_there_and_a_removed_one_nothing_more(plane: Plane) -> None:
    informers = Informers(plane.client)
    informer = informers.get(Source(CONFIG_MAPS), Pod)
    mirror = Mirror(informer)
    await write(plane.client, "there")
    async with running(informers):
        await informer.synced()
        late: list[Change[Pod]] = []
        informer.add_handler(late.append)
        assert [(each.name, each.old) for each in late] == [("there", None)]
        informer.remove_handler(late.append)
        await write(plane.client, "more")
        await agree(mirror, plane.client)
    assert len(late) == 1


async def test_metadata_alone_travels_where_that_is_all_that_is_wanted(plane: Plane) -> None:
    await write(plane.client, "a", "x" * 10_000)
    transport = FaultyTransport(plane.client._transport)
    longest: list[int] = []
    transport.bend = lambda line: longest.append(len(line)) or [line]  # type: ignore[func-returns-value]
    informers = Informers(Client(transport))
    informer = informers.get(Source(CONFIG_MAPS, is_metadata_only=True), Pod)
    async with running(informers):
        await informer.synced()
    assert (names(informer), max(longest) < 5_000) == (["a"], True)


async def test_a_handler_that_raises_ends_the_informers_loudly(plane: Plane) -> None:
    informers = Informers(plane.client)
    informer = informers.get(Source(CONFIG_MAPS), Pod)

    def fail(change: Change[Pod]) -> None:
        raise ArithmeticError(change.name)

    informer.add_handler(fail)
    await write(plane.client, "a")
    with pytest.raises(ExceptionGroup) as caught:
        await asyncio.wait_for(informers.run(), 30)
    assert caught.group_contains(ArithmeticError, match="a")


async def test_the_figures_of_a_watch_are_there_to_be_read(plane: Plane) -> None:
    informers = Informers(plane.client, pace=QUICK)
    watcher = informers.get(Source(CONFIG_MAPS), Pod).watcher
    assert watcher.last_event_age_s == float("inf")
    async with running(informers):
        await informers.synced()
        assert 0 <= watcher.last_event_age_s < 5
        assert (watcher.restarts, watcher.relists, watcher.unreadable) == (0, 0, 0)


async def test_a_projection_holds_the_fields_that_it_names(plane: Plane) -> None:
    await write(plane.client, "a", "hello")
    informers = Informers(plane.client)
    informer = informers.get(Source(CONFIG_MAPS), Note)
    async with running(informers):
        await informer.synced()
    found = informer.cache.get("default", "a")
    assert found is not None
    assert found.data.text == "hello"
