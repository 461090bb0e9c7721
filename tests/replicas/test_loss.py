"""A replica that dies takes nothing with it: no acknowledged write, and no chore for longer than its lease."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

import pytest

from homeostat.client.base import Client, UnreachableError
from homeostat.objects.errors import AlreadyExistsError, NotFoundError, UnavailableError
from homeostat.testing.eventually import eventually
from tests.postgres import Postgres, running_postgres
from tests.replicas.replica import Replica, open_clients, running_replicas

NAMESPACES = "/api/v1/namespaces"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
TAKEN_OVER_WITHIN_S = 25.0


@pytest.fixture
def server() -> Iterator[Postgres]:
    with running_postgres() as running:
        yield running


@pytest.fixture
def group(server: Postgres, tmp_path: Path) -> Iterator[Sequence[Replica]]:
    """On a database of its own: another data directory has another seal."""
    with running_replicas(tmp_path / "data", server.url_at(server.port)) as running:
        yield running


def leading(replicas: Sequence[Replica], operator: str) -> list[Replica]:
    """Those whose metrics say that they lead."""
    line = re.compile(rf'homeostat_leading{{lease="[^"]*homeostat-{operator}"}} 1')
    return [each for each in replicas if line.search(each.metrics())]


def wait_for_leader(replicas: Sequence[Replica], operator: str) -> Replica:
    ends_at = time.monotonic() + TAKEN_OVER_WITHIN_S
    while not (found := leading(replicas, operator)):
        assert time.monotonic() < ends_at, f"nobody leads {operator}"
        time.sleep(0.3)
    assert len(found) == 1
    return found[0]


class Load:
    """Creates through one replica, and through the next when that is gone."""

    def __init__(self, clients: Sequence[Client], writer: int) -> None:
        self._clients, self._writer, self._turn = clients, writer, writer
        self.acknowledged: set[str] = set()
        self.cut = 0
        self.is_over = False

    async def run(self) -> None:
        number = 0
        while not self.is_over:
            name = f"load-{self._writer}-{number}"
            try:
                await self._clients[self._turn % len(self._clients)].create(CONFIG_MAPS, {"metadata": {"name": name}})
            except (UnreachableError, UnavailableError):  # gone, or about to
                self.cut += 1
                self._turn += 1
                continue
            except AlreadyExistsError:
                pass  # it was stored and its answer was lost with the replica
            self.acknowledged.add(name)
            number += 1


async def test_a_killed_replica_loses_nothing_acknowledged_and_its_chores_are_taken_over(
    group: Sequence[Replica],
) -> None:
    async with open_clients([group[0].endpoint]) as (first,):
        # The operator sleeps until there is a Pod.
        pod = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "web", "image": "nginx:1.27"}]}}
        await first.create(PODS, pod)
    leader = await asyncio.to_thread(wait_for_leader, group, "policy")
    await asyncio.to_thread(wait_for_leader, group, "housekeeping")
    survivors = [each for each in group if each is not leader]
    async with open_clients([each.endpoint for each in group]) as clients:
        loads = [Load(clients, writer) for writer in range(9)]
        writing = [asyncio.ensure_future(load.run()) for load in loads]
        await eventually(lambda: sum(len(load.acknowledged) for load in loads) > 50)
        leader.kill()
        before = sum(len(load.acknowledged) for load in loads)
        await eventually(lambda: sum(load.cut for load in loads) >= 3)
        await eventually(lambda: sum(len(load.acknowledged) for load in loads) > before + 50)
        for load in loads:
            load.is_over = True
        await asyncio.gather(*writing)
    wanted = {name for load in loads for name in load.acknowledged}
    async with open_clients([each.endpoint for each in survivors]) as clients:
        await clients[0].create(NAMESPACES, {"metadata": {"name": "going"}})
        await clients[1].delete(f"{NAMESPACES}/going")
        for client in clients:
            assert wanted <= await names(client)
        await asyncio.to_thread(wait_for_leader, survivors, "policy")
        await gone(clients[0], f"{NAMESPACES}/going")
    leader.begin()
    await asyncio.to_thread(leader.wait_until_ready)
    async with open_clients([leader.endpoint]) as (again,):
        assert wanted <= await names(again)


async def test_replicas_restarted_one_after_another_lose_nothing_and_end_cleanly(group: Sequence[Replica]) -> None:
    async with open_clients([each.endpoint for each in group]) as clients:
        loads = [Load(clients, writer) for writer in range(6)]
        writing = [asyncio.ensure_future(load.run()) for load in loads]
        for replica in group:
            assert await asyncio.to_thread(replica.stop) == 0
            replica.begin()
            await asyncio.to_thread(replica.wait_until_ready)
        for load in loads:
            load.is_over = True
        await asyncio.gather(*writing)
        wanted = {name for load in loads for name in load.acknowledged}
        assert len(wanted) > 100
        for client in clients:
            assert wanted <= await names(client)
    for replica in group:
        assert not [line for line in replica.said().splitlines() if " ERROR " in line or "Traceback" in line]


async def names(client: Client) -> set[str]:
    found, _ = await client.list(CONFIG_MAPS)
    return {each["metadata"]["name"] for each in found}


async def gone(client: Client, path: str) -> None:
    """The housekeeper, whoever it is now, has emptied and removed it."""
    async with asyncio.timeout(TAKEN_OVER_WITHIN_S):
        for _ in count():
            try:
                await client.get(path)
            except NotFoundError:
                return
            await asyncio.sleep(0.3)
