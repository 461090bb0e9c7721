"""Elections over a real Lease, in real time and with short terms."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from homeostat.objects.json import JsonObject
from homeostat.objects.kind import LEASE
from homeostat.runtime.leader import Election, LeadershipLostError, Terms
from tests.cluster.fixtures import Api

TERMS = Terms(lease_s=2, renew_s=1.2, retry_s=0.2)


PATIENT = Terms(lease_s=60, renew_s=40, retry_s=0.2)
"""Nothing here expires while a test runs."""


def candidate(api: Api, identity: str, terms: Terms = TERMS) -> Election:
    return Election(api.client, api.namespace, "operators", identity, terms=terms)


async def lease(api: Api) -> JsonObject:
    found: JsonObject = (await api.client.get(LEASE.path(api.namespace, "operators")))["spec"]
    return found


async def until(holds: Callable[[], bool], *, within_s: float = 30.0) -> float:
    """How long it took."""
    loop = asyncio.get_running_loop()
    started = loop.time()
    async with asyncio.timeout(within_s):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    return loop.time() - started


async def for_ever() -> None:
    await asyncio.sleep(600)


async def test_of_many_that_come_together_one_leads(api: Api) -> None:
    elections = [candidate(api, f"c{number}", PATIENT) for number in range(5)]
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(each.run(for_ever)) for each in elections]
        await until(lambda: any(each.is_leading for each in elections))
        for _ in range(50):
            assert sum(each.is_leading for each in elections) <= 1
            await asyncio.sleep(0.01)
        (leader,) = [each.identity for each in elections if each.is_leading]
        spec = await lease(api)
        for each in running:
            each.cancel()
    assert (spec["holderIdentity"], spec["leaseDurationSeconds"]) == (leader, PATIENT.lease_s)


async def test_a_released_lease_is_acquired_at_the_next_attempt(api: Api) -> None:
    first, second = candidate(api, "first", PATIENT), candidate(api, "second", PATIENT)
    async with asyncio.TaskGroup() as tasks:
        leading = tasks.create_task(first.run(for_ever))
        await until(lambda: first.is_leading)
        waiting = tasks.create_task(second.run(for_ever))
        await asyncio.sleep(0.5)
        assert not second.is_leading
        leading.cancel()
        await until(lambda: second.is_leading)
        assert (await lease(api))["leaseTransitions"] == 1
        waiting.cancel()


async def test_a_leader_that_stops_renewing_is_replaced(api: Api) -> None:
    first, second = candidate(api, "first"), candidate(api, "second")
    await first.acquire()
    task = asyncio.create_task(second.acquire())
    took_s = await until(lambda: second.is_leading)
    await task
    assert took_s > TERMS.lease_s - 0.1
    assert not first.is_leading


async def test_losing_the_lease_cancels_the_work(api: Api) -> None:
    election = candidate(api, "first")
    task = asyncio.create_task(election.run(for_ever))
    await until(lambda: election.is_leading)
    path = LEASE.path(api.namespace, "operators")
    await api.client.merge(path, {"spec": {"holderIdentity": "somebody"}})
    with pytest.raises(LeadershipLostError, match="first is no longer the leader"):
        await asyncio.wait_for(task, 30)
    assert (await lease(api))["holderIdentity"] == "somebody"


async def test_a_leader_whose_lease_is_deleted_steps_down(api: Api) -> None:
    election = candidate(api, "first")
    await election.acquire()
    await api.client.delete(LEASE.path(api.namespace, "operators"))
    await asyncio.wait_for(election.lost(), 30)
