"""Who has deleted something does not find it in a cache again, whatever the server and the way to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from homeostat.client.base import Client, Transport
from homeostat.client.http.transport import open_transport
from homeostat.objects.declared import Metadata
from homeostat.runtime.cache.informer import Informer, Informers
from homeostat.runtime.control.writes import Scope, Watched, writing_in
from homeostat.runtime.manager import Manager
from homeostat.runtime.watch.source import Source
from homeostat.testing.eventually import eventually
from tests.cluster.collection import PATIENT, Collection, running
from tests.cluster.fixtures import Api
from tests.runtime.faulty import FaultyTransport
from tests.runtime.widgets import WIDGETS, Remove, Widgets, managed, widget


class Named(msgspec.Struct, frozen=True):
    """As little metadata as a projection may have."""

    name: str
    namespace: str = ""
    resource_version: str = msgspec.field(default="", name="resourceVersion")


class Note(msgspec.Struct, frozen=True):
    metadata: Metadata


class Bare(msgspec.Struct, frozen=True):
    metadata: Named


class Lagging:
    """A client whose deletions are watched, and two caches of what it deletes, whose watches can be held up."""

    def __init__(self, transport: Transport, maps: Collection) -> None:
        self._way = FaultyTransport(transport)
        self._path = maps.path
        self.informers = Informers(Client(self._way), pace=PATIENT)
        self.client = Client(Watched(self._way, self.informers))
        self.caches: list[Informer[Note] | Informer[Bare]] = [
            self.informers.get(Source(maps.path), Note),
            self.informers.get(Source(maps.path), Bare),
        ]

    def hold(self) -> asyncio.Event:
        """Nothing comes until it is set."""
        held = self._way.held[self._path] = asyncio.Event()
        return held

    def holding(self) -> list[list[str]]:
        return [sorted(name for _, name in each.cache.names()) for each in self.caches]


@asynccontextmanager
async def _way_to(api: Api, way: str) -> AsyncIterator[Transport]:
    if way == "the client's own":
        yield api.client._transport
        return
    async with open_transport(api.endpoint) as transport:
        yield transport


@pytest.fixture(params=["the client's own", "http"])
async def lagging(request: pytest.FixtureRequest, api: Api, maps: Collection) -> AsyncIterator[Lagging]:
    await maps.write_all("ab")
    async with _way_to(api, request.param) as transport:
        lagging = Lagging(transport, maps)
        async with running(lagging.informers):
            async with asyncio.timeout(30):
                await lagging.informers.synced()
            yield lagging


@pytest.fixture
def maps(api: Api) -> Collection:
    return Collection(api.client, api.namespace)


@pytest.mark.parametrize(("path", "left"), [("/a", ["b"]), ("", [])], ids=["one", "a collection"])
async def test_a_reconciliation_after_a_deletion_waits_until_the_caches_have_seen_it(
    lagging: Lagging, maps: Collection, path: str, left: list[str]
) -> None:
    held, scope = lagging.hold(), Scope()
    with writing_in(scope):
        await lagging.client.delete(f"{maps.path}{path}")
    caught_up = asyncio.create_task(scope.caught_up())
    await asyncio.sleep(0.2)
    assert (scope.is_behind, caught_up.done(), lagging.holding()) == (True, False, [["a", "b"]] * 2)
    held.set()
    await asyncio.wait_for(caught_up, 30)
    assert lagging.holding() == [left] * 2


async def test_a_reconciliation_after_a_deletion_does_not_wait_for_a_namesake_to_go(
    lagging: Lagging, maps: Collection
) -> None:
    held, scope = lagging.hold(), Scope()
    with writing_in(scope):
        await lagging.client.delete(f"{maps.path}/a")
    await maps.write("a", "another")
    held.set()
    await asyncio.wait_for(scope.caught_up(), 30)


async def test_what_was_made_and_deleted_at_once_is_not_found_either(lagging: Lagging, maps: Collection) -> None:
    for turn in range(20):
        scope = Scope()
        with writing_in(scope):
            await lagging.client.create(maps.path, {"metadata": {"name": f"c{turn}"}})
            await lagging.client.delete(f"{maps.path}/c{turn}")
        await asyncio.wait_for(scope.caught_up(), 30)
        assert lagging.holding() == [["a", "b"]] * 2


@pytest.mark.parametrize("form", ["merge", "update"])
async def test_a_reconciliation_after_the_last_finalizer_waits_until_the_object_is_gone(
    lagging: Lagging, maps: Collection, form: str
) -> None:
    client, path = lagging.client, f"{maps.path}/b"
    await client.merge(path, {"metadata": {"finalizers": ["example.com/a", "example.com/b"]}})
    scope = Scope()
    with writing_in(scope):
        await client.delete(path)
        left = await client.merge(path, {"metadata": {"finalizers": ["example.com/b"]}})
        await asyncio.wait_for(scope.caught_up(), 30)
        assert lagging.holding() == [["a", "b"]] * 2
        held = lagging.hold()
        if form == "merge":
            await client.merge(path, {"metadata": {"finalizers": None}})
        else:
            await client.update(path, {**left, "metadata": {**left["metadata"], "finalizers": []}})
    await asyncio.sleep(0.2)
    assert (scope.is_behind, lagging.holding()) == (True, [["a", "b"]] * 2)
    held.set()
    await asyncio.wait_for(scope.caught_up(), 30)
    assert lagging.holding() == [["a"]] * 2


async def test_an_operator_deletes_once_though_its_watch_lags_behind(api: Api) -> None:
    way, held, widgets = FaultyTransport(api.client._transport), asyncio.Event(), Widgets()
    path, notes = WIDGETS.kind.path(api.namespace), f"/api/v1/namespaces/{api.namespace}/configmaps"
    async with managed(Client(way), widgets, Manager(Client(way), namespace=api.namespace)):
        await api.client.create(path, widget("a"))
        await eventually(lambda: widgets.writer.texts_seen, lambda seen: ("a", "hello") in seen)
        way.held[notes] = held
        looks = widgets.writer.looks["a"]
        await api.client.delete(f"{path}/a")
        await eventually(lambda: widgets.writer.acts, lambda acts: ("a", Remove()) in acts)
        await asyncio.sleep(0.3)
        assert widgets.writer.looks["a"] == looks + 1
        held.set()
        await eventually(lambda: api.client.list(path), lambda listed: listed[0] == [])
    assert widgets.writer.acts.count(("a", Remove())) == 1
