"""Elections over a bad network, for hours of virtual time: requests that are slow, lost on the way there or back.

The server is a Lease and the one rule that matters, that an update of an old version is refused. A real one is slower.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from homeostat.client.base import Client, Response, UnreachableError
from homeostat.objects.errors import AlreadyExistsError, ApiError, ConflictError, NotFoundError, status_of
from homeostat.objects.json import JsonObject, encode
from homeostat.runtime.leader import Election, LeadershipLostError, Terms
from homeostat.testing.clock import virtual_time

TERMS = Terms()
HOURS = 2
CANDIDATES = 3


class LeaseServer:
    def __init__(self) -> None:
        self._lease: JsonObject | None = None
        self._version = 0
        self.renewals = 0

    def answer(self, method: str, body: bytes) -> Response:
        try:
            return Response(200, encode(self._do(method, body)))
        except ApiError as error:
            return Response(error.code, encode(status_of(error)))

    def delete(self) -> None:
        self._lease = None

    def _do(self, method: str, body: bytes) -> JsonObject:
        lease = self._lease
        if method == "POST":
            if lease is not None:
                raise AlreadyExistsError("there is one")
        elif lease is None:
            raise NotFoundError("there is none")
        elif method == "GET":
            return lease
        elif msgspec.json.decode(body)["metadata"]["resourceVersion"] != lease["metadata"]["resourceVersion"]:
            raise ConflictError("somebody was quicker")
        obj: JsonObject = msgspec.json.decode(body)
        if lease is None or obj["spec"] != lease["spec"]:
            self._version += 1
            self.renewals += 1
        self._lease = {**obj, "metadata": {"name": "operators", "resourceVersion": str(self._version)}}
        return self._lease


class Weather:
    """Between a candidate and the server: now good, now bad, each for a while."""

    def __init__(self, server: LeaseServer, chance: random.Random) -> None:
        self._server, self._chance = server, chance
        self.kind = "good"

    async def change(self) -> None:
        while True:
            await asyncio.sleep(self._chance.expovariate(1 / 30))
            self.kind = self._chance.choice(["good", "good", "slow", "refused", "lost there", "lost back", "any"])

    async def send(
        self, method: str, path: str, *, query: str = "", body: bytes = b"", content_type: str = "", accept: str = ""
    ) -> Response:
        kind = self.kind if self.kind != "any" else self._chance.choice(["good", "slow", "lost there", "lost back"])
        if kind == "refused":
            raise UnreachableError("connection refused", was_sent=False)
        await asyncio.sleep(self._chance.uniform(0, 6.0 if kind == "slow" else 0.01))
        if kind == "lost there":
            await asyncio.sleep(1e6)
        answering = asyncio.get_running_loop().create_future()
        # What is on its way arrives, though nobody waits for the answer any more.
        delay_s = self._chance.uniform(0, 6.0 if kind in {"slow", "lost back"} else 0.01)
        asyncio.get_running_loop().call_later(delay_s, self._arrive, answering, method, body)
        response: Response = await answering
        if kind == "lost back":
            await asyncio.sleep(1e6)
        return response

    def _arrive(self, answering: asyncio.Future[Response], method: str, body: bytes) -> None:
        response = self._server.answer(method, body)
        if not answering.done():
            answering.set_result(response)

    async def stream(self, path: str, *, query: str = "", accept: str = "") -> Response | AsyncIterator[bytes]:
        raise AssertionError("an election does not watch")


def wild_clock(chance: random.Random) -> datetime:
    """Days ahead, days behind, or standing still."""
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=chance.choice([0, 0, 0, -3, 3]))


async def stand(election: Election, chance: random.Random) -> None:
    """Leads, at times gives up by itself, and stands again."""
    while True:
        with suppress(LeadershipLostError, TimeoutError):
            async with asyncio.timeout(chance.uniform(60, 600)):
                await election.run(lambda: asyncio.sleep(1e9))


@pytest.mark.parametrize("seed", range(2))
@virtual_time
async def test_at_most_one_leads_despite_faults_and_most_of_the_time_one_does(seed: int) -> None:
    chance, server = random.Random(seed), LeaseServer()
    weathers = [Weather(server, chance) for _ in range(CANDIDATES)]
    elections = [
        Election(
            Client(each),
            "default",
            "operators",
            f"c{at}",
            now=lambda: wild_clock(chance),
            chance=chance.random,
        )
        for at, each in enumerate(weathers)
    ]
    led_s, leaders = 0.0, set[str]()
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(stand(each, chance)) for each in elections]
        running += [tasks.create_task(each.change()) for each in weathers]
        for step in range(HOURS * 36_000):
            leading = [each.identity for each in elections if each.is_leading]
            assert len(leading) <= 1, f"after {step / 10} s"
            led_s += 0.1 * len(leading)
            leaders.update(leading)
            if chance.random() < 3e-4:
                server.delete()
            await asyncio.sleep(0.1)
        for task in running:
            task.cancel()
    assert leaders == {each.identity for each in elections}
    assert led_s > HOURS * 3600 * 0.5
    assert server.renewals > 100


@virtual_time
async def test_a_leader_that_is_cut_off_is_replaced_within_its_lease() -> None:
    chance, server = random.Random(1), LeaseServer()
    weathers = [Weather(server, chance) for _ in range(2)]
    first, second = (
        Election(Client(each), "default", "operators", f"c{at}", chance=chance.random)
        for at, each in enumerate(weathers)
    )
    loop = asyncio.get_running_loop()
    await first.acquire()
    async with asyncio.TaskGroup() as tasks:
        keeping = tasks.create_task(first.lost())
        taking = tasks.create_task(second.acquire())
        await asyncio.sleep(100)
        weathers[0].kind = "lost there"
        cut_at = loop.time()
        await keeping
        assert loop.time() - cut_at <= TERMS.renew_s
        await taking
        assert loop.time() - cut_at <= TERMS.lease_s + TERMS.retry_s


@pytest.mark.parametrize("after_s", [0.1, 0.9, 1.7, 1.99])
@virtual_time
async def test_a_lease_that_is_deleted_makes_no_second_leader(after_s: float) -> None:
    chance, server = random.Random(2), LeaseServer()
    elections = [
        Election(Client(Weather(server, chance)), "default", "operators", f"c{at}", chance=lambda: 0.0)
        for at in range(CANDIDATES)
    ]
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(stand(each, random.Random(3))) for each in elections]
        await asyncio.sleep(50 + after_s)
        server.delete()
        for _ in range(3000):
            assert sum(each.is_leading for each in elections) <= 1
            await asyncio.sleep(0.01)
        assert sum(each.is_leading for each in elections) == 1
        for task in running:
            task.cancel()
