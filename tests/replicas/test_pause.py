"""A replica that stands still for longer than its lease, as one on a machine that swaps or is moved, and continues."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from homeostat.client.base import Client
from homeostat.testing.eventually import eventually
from tests.replicas.replica import Replica, open_clients

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
TALLIES = "/apis/tally.example/v1/namespaces/default/tallies"
TALLY = {"apiVersion": "tally.example/v1", "kind": "Tally", "metadata": {"name": "tally"}, "spec": {}}
LEASE_S = 3
_WITH_A_SHORT_LEASE = f"""
import sys
from homeostat.runtime import leader
leader.TERMS = leader.Terms(lease_s={LEASE_S}, renew_s=2.0, retry_s=0.5)
from homeostat.cli.main import main
sys.exit(main())
"""


class Step(NamedTuple):
    number: int
    by: int


@pytest.fixture
def pair(empty_database: str, tmp_path: Path) -> Iterator[Sequence[Replica]]:
    operator = str(Path(__file__).with_name("tally.py"))
    program = (sys.executable, "-c", _WITH_A_SHORT_LEASE)
    replicas = [Replica(tmp_path / "data", empty_database, "--operators", operator, program=program) for _ in range(2)]
    try:
        for each in replicas:
            each.begin()
        for each in replicas:
            each.wait_until_ready()
        yield replicas
    finally:
        for each in replicas:
            each.kill()


async def watch_steps(client: Client, steps: list[Step]) -> None:
    async for event in client.watch(CONFIG_MAPS, fieldSelector="metadata.name=tally"):
        data = event.obj["data"]
        steps.append(Step(int(data["count"]), int(data["by"])))


async def write(client: Client, name: str) -> str:
    await client.create(CONFIG_MAPS, {"metadata": {"name": name, "labels": {"late": "yes"}}})
    return name


async def test_a_leader_that_stood_still_acts_no_more_and_loses_and_repeats_no_write(pair: Sequence[Replica]) -> None:
    steps: list[Step] = []
    async with open_clients([each.endpoint for each in pair]) as clients:
        await clients[0].create(TALLIES, TALLY)
        tally = await eventually(lambda: clients[0].get(f"{CONFIG_MAPS}/tally"))
        at = next(number for number, each in enumerate(pair) if each.pid == int(tally["data"]["by"]))
        (leader, former), (other, client) = (pair[at], clients[at]), (pair[1 - at], clients[1 - at])
        watching = asyncio.ensure_future(watch_steps(client, steps))
        await eventually(lambda: len(steps) > 5)

        leader.pause()
        late = [asyncio.ensure_future(write(former, f"late-{number}")) for number in range(20)]
        await eventually(lambda: steps[-1].by == other.pid)
        leader.resume()
        resumed_at = len(steps)
        acknowledged = {each for each in await asyncio.gather(*late, return_exceptions=True) if isinstance(each, str)}
        await eventually(lambda: len(steps) > resumed_at + 20)

        items, _ = await former.list(CONFIG_MAPS, labelSelector="late=yes")
        fresh = await former.get(f"{CONFIG_MAPS}/tally")
        watching.cancel()
    assert [after.by for before, after in pairwise(steps) if before.by != after.by] == [other.pid]
    assert all(after.number == before.number + 1 for before, after in pairwise(steps))
    assert int(fresh["data"]["count"]) > steps[resumed_at].number
    assert acknowledged <= {each["metadata"]["name"] for each in items}
    assert leader.is_running
