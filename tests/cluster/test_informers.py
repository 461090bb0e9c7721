"""Informers do on a real cluster what they do on a plane."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace

import msgspec
import pytest

from homeostat.client.base import Client, Response, Transport
from homeostat.client.http.transport import open_transport
from homeostat.runtime.cache.index import by_label
from homeostat.runtime.cache.informer import Informer, Informers
from homeostat.runtime.watch.source import Source
from tests.cluster.collection import PATIENT, Collection, following, running
from tests.cluster.fixtures import Api, create_namespace
from tests.runtime.faulty import FaultyTransport, eventually, open_proxy
from tests.runtime.projections import Metadata, Pod


class Data(msgspec.Struct, frozen=True, gc=False):
    text: str = ""


class Note(msgspec.Struct, frozen=True, gc=False):
    metadata: Metadata
    data: Data


@pytest.fixture
def maps(api: Api) -> Collection:
    return Collection(api.client, api.namespace)


def names(informer: Informer[Pod]) -> list[str]:
    return sorted(each.metadata.name for each in informer.cache)


async def shows(informer: Informer[Pod], expected: list[str]) -> None:
    async def is_shown() -> bool:
        return names(informer) == expected

    await eventually(is_shown)


async def test_a_cache_comes_to_equal_the_server_and_misses_no_change(api: Api, maps: Collection) -> None:
    await maps.write_all("abc")
    async with following(api.client, maps.path) as (informer, mirror):
        assert names(informer) == ["a", "b", "c"]
        await maps.churn(30)
        await maps.agree(mirror)
        assert mirror.changes == 3 + 30 + len([turn for turn in range(30) if turn % 7 == 3])
        assert (informer.watcher.restarts, informer.relists) == (0, 0)


async def test_the_first_list_is_streamed(api: Api, maps: Collection) -> None:
    await maps.write_all("abc")
    async with open_transport(api.endpoint) as inner:
        transport = FaultyTransport(inner)
        async with following(Client(transport), maps.path):
            pass
    assert [("sendInitialEvents" in each, "limit=" in each) for each in transport.sent] == [(True, False)]


class SlowLists(FaultyTransport):
    """Lists are asked for and do not come before `release`."""

    def __init__(self, inner: Transport) -> None:
        super().__init__(inner)
        self.is_asked, self.release = asyncio.Event(), asyncio.Event()

    async def send(
        self, method: str, path: str, *, query: str = "", body: bytes = b"", content_type: str = "", accept: str = ""
    ) -> Response:
        if "limit=" in query:
            self.is_asked.set()
            await self.release.wait()
        return await super().send(method, path, query=query, body=body, content_type=content_type, accept=accept)


async def test_changes_are_delivered_while_a_list_to_compare_with_is_on_its_way(api: Api, maps: Collection) -> None:
    await maps.write("a")
    transport = SlowLists(api.client._transport)
    async with following(Client(transport), maps.path, msgspec.structs.replace(PATIENT, relist_every_s=0.2)) as (
        informer,
        mirror,
    ):
        await asyncio.wait_for(transport.is_asked.wait(), 30)
        await maps.write("b")
        await maps.remove("a")
        await shows(informer, ["b"])
        transport.release.set()
        await maps.agree(mirror)
        assert transport.streams == 1


async def test_comparisons_beside_a_watch_find_nothing_amiss_while_objects_come_and_go(
    api: Api, maps: Collection
) -> None:
    await maps.write_all(f"d{number:02}" for number in range(12))
    transport = FaultyTransport(api.client._transport)
    pace = msgspec.structs.replace(PATIENT, relist_every_s=0.1)
    async with following(Client(transport), maps.path, pace) as (informer, mirror):
        while informer.comparison.lists < 5:
            await maps.churn(10)
        await maps.agree(mirror)
        assert (informer.comparison.differences, informer.watcher.restarts, transport.streams) == (0, 0, 1)


async def test_what_a_middleman_drops_is_found_beside_the_watch(api: Api, maps: Collection) -> None:
    await maps.write_all("abc")
    chance = random.Random(1)
    transport = FaultyTransport(api.client._transport)
    async with following(Client(transport), maps.path, msgspec.structs.replace(PATIENT, relist_every_s=0.1)) as (
        informer,
        mirror,
    ):
        transport.bend = lambda line: [] if b'"BOOKMARK"' not in line and chance.random() < 0.5 else [line]
        await maps.churn(40)
        transport.bend = lambda line: [line]
        await maps.write("last")
        await maps.agree(mirror)
        assert (informer.comparison.differences > 0, informer.watcher.restarts, transport.streams) == (True, 0, 1)


async def test_the_server_selects(api: Api) -> None:
    home, other = api.namespace, await create_namespace(api.client)
    for namespace, name, app in ((home, "web", "web"), (home, "db", "db"), (other, "web", "web")):
        body = {"metadata": {"name": name, "labels": {"app": app, "of": home}}}
        await api.client.create(f"/api/v1/namespaces/{namespace}/configmaps", body)
    informers = Informers(api.client)
    path = "/api/v1/configmaps"
    sources = [
        Source(f"/api/v1/namespaces/{home}/configmaps"),
        Source(path, label_selector=f"of={home},app in (web)"),
        Source(path, label_selector=f"of={home}", field_selector=f"metadata.namespace={other}"),
    ]
    chosen = [informers.get(source, Pod, {"app": by_label("app")}) for source in sources]
    async with running(informers), asyncio.timeout(30):
        await informers.synced()
    assert [names(each) for each in chosen] == [["db", "web"], ["web", "web"], ["web"]]
    assert chosen[1].cache.indexed_names("app", "web") == sorted([(home, "web"), (other, "web")])


async def test_metadata_alone_travels_where_that_is_all_that_is_wanted(api: Api, maps: Collection) -> None:
    body = {"metadata": {"name": "a"}, "data": {"text": "x" * 10_000}}
    await api.client.create(maps.path, body)
    longest: list[int] = []

    def measured(line: bytes) -> list[bytes]:
        longest.append(len(line))
        return [line]

    async with open_transport(api.endpoint) as inner:
        transport = FaultyTransport(inner)
        transport.bend = measured
        informers = Informers(Client(transport))
        informer = informers.get(Source(maps.path, is_metadata_only=True), Pod)
        async with running(informers):
            await informer.synced()
            await maps.write("b")
            await shows(informer, ["a", "b"])
    assert max(longest) < 5_000


async def test_a_projection_holds_the_fields_that_it_names(api: Api, maps: Collection) -> None:
    await api.client.create(maps.path, {"metadata": {"name": "a"}, "data": {"text": "hello"}})
    informers = Informers(api.client)
    informer = informers.get(Source(maps.path), Note)
    async with running(informers):
        await informer.synced()
    found = informer.cache.get(api.namespace, "a")
    assert found is not None
    assert found.data.text == "hello"


async def test_a_reconciliation_is_not_older_than_its_own_last_write(api: Api, maps: Collection) -> None:
    async with following(api.client, maps.path) as (informer, _):
        for turn in range(20):
            version = await maps.write("a", f"turn {turn}")
            informer.cache.wrote(api.namespace, "a", version)
            async with asyncio.timeout(30):
                await informer.cache.await_version(api.namespace, "a")
            found = informer.cache.get(api.namespace, "a")
            assert found is not None
            assert int(found.metadata.resource_version) >= version


async def test_connections_that_are_reset_are_resumed_without_loss(api: Api, maps: Collection) -> None:
    chance = random.Random(3)
    port = int(api.endpoint.server.rpartition(":")[2])
    async with open_proxy(port) as proxy:
        endpoint = replace(api.endpoint, server=f"https://127.0.0.1:{proxy.port}")
        async with open_transport(endpoint) as transport, following(Client(transport), maps.path) as (informer, mirror):
            proxy.budget = lambda: chance.randrange(4_000, 12_000)
            proxy.reset()
            await maps.churn(60)
            proxy.budget = lambda: None
            await maps.agree(mirror)
    assert informer.watcher.restarts > 0
