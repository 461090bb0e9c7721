"""The database goes away and comes back: retriable answers, nothing stale shown as fresh, no restart needed."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from homeostat.client.base import Client
from homeostat.client.connect import open_client
from homeostat.objects.errors import ApiError, UnavailableError
from homeostat.plane import Settings, open_plane
from homeostat.testing.eventually import eventually
from tests.consistency.proxy import running_proxy
from tests.postgres import Postgres, running_postgres, running_standby, wait_for_standby
from tests.replicas.replica import Replica, open_clients, running_replicas

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
def server() -> Iterator[Postgres]:
    with running_postgres() as running:
        yield running


@pytest.fixture
def pair(server: Postgres, tmp_path: Path) -> Iterator[Sequence[Replica]]:
    url = server.url_at(server.port)
    with running_replicas(tmp_path / "data", url, "--operators", "housekeeping", count=2) as running:
        yield running


async def refused(client: Client, method: str) -> ApiError:
    body = {"metadata": {"name": "refused"}} if method == "POST" else None
    with pytest.raises(UnavailableError) as caught:
        await client.request(method, CONFIG_MAPS, body=body)
    return caught.value


class Watch:
    """A watch that is open once it has delivered the first object."""

    def __init__(self, client: Client) -> None:
        self.names: list[str] = []
        self._changed = asyncio.Condition()
        self._task = asyncio.ensure_future(self._run(client))

    async def until(self, name: str) -> list[str]:
        async with asyncio.timeout(30), self._changed:
            await self._changed.wait_for(lambda: name in self.names or self._task.done())
        return self.names

    async def _run(self, client: Client) -> None:
        async for event in client.watch(CONFIG_MAPS, labelSelector="told=yes"):
            async with self._changed:
                self.names.append(event.obj["metadata"]["name"])
                self._changed.notify_all()


def figure(replica: Replica, name: str) -> float:
    found = re.search(rf"^{name} (\S+)$", replica.metrics(), re.MULTILINE)
    assert found
    return float(found[1])


def config_map(name: str) -> dict[str, object]:
    return {"metadata": {"name": name, "labels": {"told": "yes"}}}


async def test_without_its_database_a_plane_refuses_for_a_while_and_continues_by_itself(
    server: Postgres, pair: Sequence[Replica]
) -> None:
    async with open_clients([each.endpoint for each in pair]) as clients:
        one, two = clients
        await one.create(CONFIG_MAPS, config_map("before"))
        watch = Watch(two)
        await watch.until("before")
        server.stop()
        answers = await asyncio.gather(*(refused(each, method) for each in clients for method in ("GET", "POST")))
        assert [answer.retry_after_s for answer in answers] == [1] * 4
        cached = await two.request("GET", CONFIG_MAPS, {"resourceVersion": "0", "labelSelector": "told=yes"})
        assert [each["metadata"]["name"] for each in cached["items"]] == ["before"]
        told = [await asyncio.to_thread(each.readiness) for each in pair]
        assert [status for status, _ in told] == [503, 503]
        assert all("does not respond" in text for _, text in told)
        server.start()
        for number, each in enumerate(pair):
            async with open_client(each.endpoint) as patient:
                await patient.create(CONFIG_MAPS, config_map(f"after-{number}"))
            await asyncio.to_thread(each.wait_until_ready)
        assert await watch.until("after-1") == ["before", "after-0", "after-1"]
        password = urlsplit(server.url_at(server.port)).password
        assert password
        shown = [*map(str, answers), *(text for _, text in told), *(each.said() for each in pair)]
        assert not [text for text in shown if password in text]
        assert [figure(each, "homeostat_store_failures") > 0 for each in pair] == [True, True]
        # One may have seen a write of the other's chores that the other has not delivered yet.
        await eventually(lambda: {figure(each, "homeostat_store_revision") for each in pair}, lambda it: len(it) == 1)


async def test_a_commit_of_unknown_outcome_is_not_answered_with_retry_after(server: Postgres, tmp_path: Path) -> None:
    """Clients repeat by themselves what is answered with `Retry-After`: two objects of one generateName."""
    async with running_proxy(server.port) as proxy:
        url = server.url_at(proxy.port)
        settings = Settings(data=tmp_path, port=0, database=url, operators=frozenset())
        async with open_plane(settings) as plane:
            proxy.doom(b"marked", "answer-lost")
            proxy.is_refusing = True
            with pytest.raises(UnavailableError, match="the outcome of the commit is unknown") as caught:
                await plane.client.create(CONFIG_MAPS, {"metadata": {"generateName": "marked-"}})
            assert caught.value.retry_after_s == 0
            assert (await refused(plane.client, "POST")).retry_after_s == 1
            proxy.is_refusing = False
            found = await plane.client.request("GET", CONFIG_MAPS)
            assert [each["metadata"]["generateName"] for each in found["items"]] == ["marked-"]


async def test_a_standby_takes_over_and_no_acknowledged_write_is_lost(server: Postgres, tmp_path: Path) -> None:
    with running_standby(server) as standby:
        await wait_for_standby(server)
        both = server.url_at(server.port).replace("/postgres", f",127.0.0.1:{standby.port}/postgres")
        with running_replicas(tmp_path / "data", both, "--operators", "none", count=2) as pair:
            async with open_client(pair[0].endpoint) as one, open_client(pair[1].endpoint) as two:
                watch = Watch(two)
                for number in range(20):
                    await (one, two)[number % 2].create(CONFIG_MAPS, config_map(f"n{number:02}"))
                server.stop(is_crash=True)
                writing = asyncio.ensure_future(one.create(CONFIG_MAPS, config_map("n20")))
                await asyncio.to_thread(standby.promote)
                await writing
                for number in range(21, 40):
                    await (one, two)[number % 2].create(CONFIG_MAPS, config_map(f"n{number:02}"))
                assert await watch.until("n39") == [f"n{number:02}" for number in range(40)]


async def test_a_replica_of_a_database_that_was_set_back_ends_and_says_why(
    server: Postgres, pair: Sequence[Replica]
) -> None:
    async with open_clients([pair[0].endpoint]) as (client,):
        await client.create(CONFIG_MAPS, config_map("lost"))
    owner = await asyncpg.connect(server.url)
    await owner.execute("DELETE FROM homeostat.log WHERE revision > 5")
    await owner.execute("DELETE FROM homeostat.batch WHERE last > 5")
    await owner.close()
    for each in pair:
        assert await asyncio.to_thread(each.wait) == 1
        assert "restart this replica" in each.said()
        assert "Traceback" not in each.said()
    # Who came second may find what the first has left.
    assert any("an older state was restored; restart this replica" in each.said() for each in pair)
