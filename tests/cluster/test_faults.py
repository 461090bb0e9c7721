"""Whatever befalls a real cluster, in the end the cache equals the server and no change is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace

import msgspec
import pytest

from homeostat.client.base import Client, Response
from homeostat.client.http.transport import open_transport
from homeostat.client.projection import Projection
from homeostat.client.requests import Selection
from homeostat.objects.errors import ExpiredError
from homeostat.objects.kind import CONFIG_MAP, Kind
from homeostat.runtime.cache.informer import Informer
from homeostat.runtime.control.status import Snapshot
from homeostat.runtime.leader import Election, Terms
from tests.cluster.collection import PATIENT, Collection, following
from tests.cluster.fixtures import Api
from tests.cluster.running import UNCACHED, Cluster
from tests.runtime.faulty import eventually, open_proxy
from tests.runtime.projections import Pod

ACCOUNT = Kind("", "v1", UNCACHED, "ServiceAccount", is_namespaced=True)


async def restarted(informer: Informer[Pod]) -> None:
    """The informer has noticed that its watch is over."""

    async def has_restarted() -> bool:
        return informer.watcher.restarts > 0

    await eventually(has_restarted)


@pytest.fixture
async def flaky(cluster: Cluster) -> AsyncIterator[Cluster]:
    """A cluster whose server a test may kill: others find it up again."""
    yield cluster
    if not cluster.is_serving:
        await cluster.revive_apiserver()


@pytest.mark.parametrize("kind", [CONFIG_MAP, ACCOUNT], ids=["watched in the server", "watched in etcd"])
async def test_a_server_that_is_killed_and_comes_back_is_followed_again(
    flaky: Cluster, real_api: Api, kind: Kind
) -> None:
    objects = Collection(real_api.client, real_api.namespace, kind)
    async with following(real_api.client, objects.path) as (informer, mirror):
        await objects.churn(10)
        await objects.agree(mirror)
        flaky.kill_apiserver()
        await restarted(informer)
        await flaky.revive_apiserver()
        await objects.churn(10)
        await objects.write("last")
        await objects.agree(mirror)


async def test_a_server_that_is_killed_while_objects_change_loses_none_that_it_took(
    flaky: Cluster, real_api: Api
) -> None:
    objects = Collection(real_api.client, real_api.namespace)
    async with following(real_api.client, objects.path) as (_, mirror), asyncio.TaskGroup() as tasks:
        # Writes are sent again until the server takes them: it was never reached, or an apply is done twice.
        writing = tasks.create_task(objects.churn_anyway(100))
        await asyncio.sleep(0.1)
        flaky.kill_apiserver()
        await flaky.revive_apiserver()
        await writing
        await objects.agree(mirror)


async def test_a_leader_outlives_a_server_that_is_back_within_its_term(flaky: Cluster, real_api: Api) -> None:
    terms = Terms(lease_s=30, renew_s=20.0, retry_s=0.2)
    election = Election(real_api.client, real_api.namespace, "operators", "first", terms=terms)
    await election.acquire()
    keeping = asyncio.create_task(election.lost())
    flaky.kill_apiserver()
    await flaky.revive_apiserver()
    await asyncio.sleep(0.5)
    assert (election.is_leading, keeping.done()) == (True, False)
    keeping.cancel()
    await election.release()


async def test_a_watch_from_a_version_that_was_compacted_starts_again(cluster: Cluster, real_api: Api) -> None:
    accounts = Collection(real_api.client, real_api.namespace, ACCOUNT)
    async with open_proxy(cluster.port) as proxy:
        endpoint = replace(real_api.endpoint, server=f"https://127.0.0.1:{proxy.port}")
        async with open_transport(endpoint) as transport:
            await accounts.churn(10)
            async with following(Client(transport), accounts.path) as (informer, mirror):
                proxy.budget = lambda: 0
                proxy.reset()
                await restarted(informer)
                await accounts.churn(20)
                await asyncio.to_thread(cluster.compact)
                assert informer.watcher.relists == 0
                proxy.budget = lambda: None
                await accounts.agree(mirror)
                assert informer.watcher.relists == 1


async def test_pages_of_a_version_that_was_compacted_are_expired(cluster: Cluster, real_api: Api) -> None:
    accounts = Collection(real_api.client, real_api.namespace, ACCOUNT)
    await accounts.write_all("abc")
    objects = Projection(real_api.client, ACCOUNT, Snapshot)
    async with aclosing(objects.pages(Selection(real_api.namespace), limit=2)) as pages:
        assert [each.metadata.name for each in (await anext(pages)).items] == ["a", "b"]
        await accounts.write("d")
        await asyncio.to_thread(cluster.compact)
        with pytest.raises(ExpiredError):
            await anext(pages)


class Forgetful:
    """A way to a server that has forgotten the version of a list by the time its second page is asked for."""

    def __init__(self, api: Api, cluster: Cluster) -> None:
        self._transport = api.client._transport
        self._accounts = Collection(api.client, api.namespace, ACCOUNT)
        self._cluster = cluster
        self.whole_lists = 0

    async def send(
        self, method: str, path: str, *, query: str = "", body: bytes = b"", content_type: str = "", accept: str = ""
    ) -> Response:
        if "continue=" in query:
            await self._accounts.write("newer")
            await asyncio.to_thread(self._cluster.compact)
        elif "limit=" not in query:
            self.whole_lists += 1
        return await self._transport.send(
            method, path, query=query, body=body, content_type=content_type, accept=accept
        )

    async def stream(self, path: str, *, query: str = "", accept: str = "") -> Response | AsyncIterator[bytes]:
        return await self._transport.stream(path, query=query, accept=accept)


async def test_a_list_that_outlives_its_tokens_is_asked_for_whole(cluster: Cluster, real_api: Api) -> None:
    accounts = Collection(real_api.client, real_api.namespace, ACCOUNT)
    await accounts.write_all(f"c{number:02}" for number in range(12))
    way = Forgetful(real_api, cluster)
    async with following(Client(way), accounts.path, msgspec.structs.replace(PATIENT, relist_every_s=0.3)) as (
        informer,
        mirror,
    ):

        async def is_whole() -> bool:
            return way.whole_lists > 0

        await eventually(is_whole)
        await accounts.agree(mirror)
        assert informer.watcher.unreadable == 0
