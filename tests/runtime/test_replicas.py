"""Several managers on one plane: one works, and another takes over, whatever comes between them and the server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from homeostat.client.base import Client, Response, Transport, UnreachableError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import LEASE
from homeostat.plane import Settings, open_plane
from homeostat.runtime.control.reconcile import Options
from homeostat.runtime.control.writes import RefusedWriteError
from homeostat.runtime.installation import install
from homeostat.runtime.leader import Election, LeadershipLostError, Terms
from homeostat.runtime.manager import Manager
from homeostat.runtime.setup import Setup
from homeostat.testing.eventually import eventually
from tests.runtime.widgets import KINDS, Widgets, path, widget

TERMS = Terms(lease_s=2, renew_s=1.2, retry_s=0.15)
PATIENT = Terms(lease_s=60, renew_s=40, retry_s=0.15)
"""Nothing expires while a test runs: what happens then has another reason."""
LONGEST_POLL_S = TERMS.retry_s * 2.2
MARKS = "/api/v1/namespaces/default/configmaps/mark"


class Act(NamedTuple):
    at: float
    who: str


class Road:
    """To the plane. `fault` is what happens to requests: nothing, no connection, no answer, or an answer that is lost
    on its way back.
    """

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.fault = ""
        self.arrived: list[tuple[float, str, str]] = []

    async def send(
        self, method: str, path: str, *, query: str = "", body: bytes = b"", content_type: str = "", accept: str = ""
    ) -> Response:
        await self._pass()
        self.arrived.append((asyncio.get_running_loop().time(), method, path))
        response = await self._inner.send(
            method, path, query=query, body=body, content_type=content_type, accept=accept
        )
        if self.fault == "lost answers":
            await asyncio.Event().wait()
        return response

    async def stream(self, path: str, *, query: str = "", accept: str = "") -> Response | AsyncIterator[bytes]:
        await self._pass()
        self.arrived.append((asyncio.get_running_loop().time(), "WATCH", path))
        return await self._inner.stream(path, query=query, accept=accept)

    async def _pass(self) -> None:
        if self.fault == "refused":
            raise UnreachableError("connection refused", was_sent=False)
        if self.fault == "silence":
            await asyncio.Event().wait()

    def since(self, moment: float) -> list[tuple[str, str]]:
        return [(method, path) for at, method, path in self.arrived if at > moment]


class Replica:
    """A process as far as it matters here: a manager with a job that leaves a mark every few milliseconds."""

    def __init__(self, client: Client, name: str, acts: list[Act], terms: Terms) -> None:
        self.name, self.road, self._acts = name, Road(client._transport), acts
        self.manager = Manager(Client(self.road), leases="default", identity=name, terms=terms, grace_s=2)
        self.widgets = Widgets(Options())
        self.manager.add("widgets", self._register)
        self.farewells: list[str] = []
        self.refused = 0

    @property
    def is_leading(self) -> bool:
        return any(host.is_leading for host in self.manager._hosts)

    def _register(self, setup: Setup) -> None:
        self.widgets.register(setup)

        async def mark() -> None:
            try:
                while True:
                    self._acts.append(Act(asyncio.get_running_loop().time(), self.name))
                    with suppress(UnreachableError):
                        await setup.client.merge(MARKS, {"data": {"by": self.name}})
                    await asyncio.sleep(0.005)
            finally:
                await self._say_farewell(setup.client)

        setup.run(mark)

    async def _say_farewell(self, client: Client) -> None:
        try:
            await client.merge(MARKS, {"data": {"farewell": self.name}})
        except RefusedWriteError:
            self.refused += 1
        else:
            self.farewells.append(self.name)


@pytest.fixture
async def client(data: Path) -> AsyncIterator[Client]:
    async with open_plane(Settings(data=data, port=0, is_open=True, operators=frozenset())) as plane:
        await install(plane.client, KINDS)
        await plane.client.create(MARKS.removesuffix("/mark"), {"metadata": {"name": "mark"}})
        yield plane.client


class Pair:
    """Two replicas, of which `leader` leads. What both say of themselves is sampled all the time."""

    def __init__(self, client: Client, terms: Terms) -> None:
        self.acts: list[Act] = []
        self.client = client
        self.leader, self.standby = (Replica(client, name, self.acts, terms) for name in ("first", "second"))
        self.most_leading = 0

    async def sample(self) -> None:
        while True:
            self.most_leading = max(self.most_leading, self.leader.is_leading + self.standby.is_leading)
            await asyncio.sleep(0.002)

    def turns(self) -> list[str]:
        """Who acted, one after the other."""
        turns: list[str] = []
        for act in sorted(self.acts):
            if not turns or turns[-1] != act.who:
                turns.append(act.who)
        return turns


@asynccontextmanager
async def pair(client: Client, terms: Terms = TERMS) -> AsyncIterator[Pair]:
    pair = Pair(client, terms)
    async with AsyncExitStack() as stack:
        tasks = await stack.enter_async_context(asyncio.TaskGroup())
        sampling = tasks.create_task(pair.sample())
        await stack.enter_async_context(pair.leader.manager.running())
        await eventually(lambda: pair.leader.is_leading and pair.acts)
        await stack.enter_async_context(pair.standby.manager.running())
        await pair.standby.manager.informers.synced()
        stack.callback(sampling.cancel)
        yield pair


async def text_of(client: Client, name: str) -> str:
    status: JsonObject = (await client.get(path(name))).get("status") or {}
    return str(status.get("text", ""))


async def test_a_stop_hands_over_at_the_next_attempt_of_a_warm_standby(client: Client) -> None:
    async with pair(client, PATIENT) as two:
        await client.create(path(), widget("a"))
        await eventually(lambda: text_of(client, "a"), lambda text: text == "hello")
        assert two.standby.widgets.writer.looks["a"] == 0
        began = asyncio.get_running_loop().time()
        two.leader.manager.stop()
        await eventually(lambda: two.standby.is_leading)
        await client.merge(path("a"), {"spec": {"text": "bye"}})
        await eventually(lambda: text_of(client, "a"), lambda text: text == "bye")
        asked = two.standby.road.since(began)
    assert [each for each in asked if each[0] == "WATCH" or (each[0] == "GET" and "leases" not in each[1])] == []
    assert two.turns() == ["first", "second"]
    assert two.leader.farewells == ["first"]
    assert two.most_leading == 1


@pytest.mark.parametrize("fault", ["refused", "silence", "lost answers"])
async def test_a_leader_that_is_cut_off_ends_its_work_before_another_begins(client: Client, fault: str) -> None:
    loop = asyncio.get_running_loop()
    async with pair(client) as two:
        two.leader.road.fault = fault
        await eventually(lambda: two.standby.is_leading)
        await eventually(lambda: two.turns() == ["first", "second"])
        handed_over_at = loop.time()
        assert (two.leader.refused, two.leader.farewells) == (1, [])
        await client.create(path(), widget("a"))
        await eventually(lambda: text_of(client, "a"), lambda text: text == "hello")
        two.leader.road.fault = ""
        await asyncio.sleep(LONGEST_POLL_S + 0.1)
        assert not two.leader.is_leading
        writes = {method for method, _ in two.leader.road.since(handed_over_at)} - {"GET", "WATCH"}
        assert writes == set()
        two.standby.manager.stop()
        await eventually(lambda: two.leader.is_leading)
        await client.merge(path("a"), {"spec": {"text": "back"}})
        await eventually(lambda: text_of(client, "a"), lambda text: text == "back")
        assert two.leader.widgets.writer.looks["a"] > 0
    assert two.turns() == ["first", "second", "first"]
    assert two.most_leading == 1


async def test_a_leader_that_hears_again_in_time_continues(client: Client) -> None:
    async with pair(client, Terms(lease_s=8, renew_s=6, retry_s=0.15)) as two:
        for _ in range(3):
            two.leader.road.fault = "refused"
            await asyncio.sleep(0.6)
            two.leader.road.fault = ""
            await asyncio.sleep(TERMS.retry_s * 2)
        assert two.leader.is_leading
        assert not two.standby.is_leading
    assert two.turns()[0] == "first"


async def test_a_stop_while_cut_off_is_bounded(client: Client) -> None:
    loop = asyncio.get_running_loop()
    async with pair(client) as two:
        two.leader.road.fault = "silence"
        began = loop.time()
        two.leader.manager.stop()
        await eventually(lambda: two.standby.is_leading)
    assert loop.time() - began < 20
    assert two.most_leading == 1


async def test_operators_of_one_process_are_led_apart(client: Client) -> None:
    manager = Manager(client, leases="default", identity="me", terms=TERMS)
    manager.add("one", lambda setup: None)
    manager.add("two", lambda setup: None)
    other = Election(client, "default", "homeostat-two", "other", terms=TERMS)
    await other.acquire()
    async with asyncio.TaskGroup() as tasks:
        renewing = tasks.create_task(other.lost())
        async with manager.running():
            await eventually(lambda: any(host.is_leading for host in manager._hosts))
            assert [host.is_leading for host in manager._hosts] == [True, False]
            leases, _ = await client.list(LEASE.path("default"))
            holders = {each["metadata"]["name"]: each["spec"].get("holderIdentity") for each in leases}
            assert holders == {"homeostat-one": "me", "homeostat-two": "other"}
        renewing.cancel()


Clock = Callable[[], datetime]


def clock(*jumps_h: float) -> Clock:
    """One that jumps at every look, back and forth."""
    hours = list(jumps_h)

    def now() -> datetime:
        hours.append(hours.pop(0))
        return datetime(2026, 6, 1, tzinfo=UTC) + timedelta(hours=hours[0])

    return now


CLOCKS = {
    "a day forth and back": (clock(0, 24), clock(0, -24)),
    "far apart, and standing still": (clock(1000), clock(-1000)),
    "to and fro": (clock(-1, 1, 0), clock(5, -5, 0, 7)),
}


async def test_a_wall_clock_that_jumps_or_stands_still_changes_nothing(client: Client) -> None:
    async def hand_over(lease: str, clocks: tuple[Clock, Clock]) -> None:
        loop = asyncio.get_running_loop()
        first, second = (Election(client, "default", lease, f"c{id(now)}", terms=TERMS, now=now) for now in clocks)
        await first.acquire()
        async with asyncio.TaskGroup() as tasks:
            keeping = tasks.create_task(first.lost())
            taking = tasks.create_task(second.acquire())
            ends_at = loop.time() + TERMS.lease_s * 1.2
            while loop.time() < ends_at:
                assert (first.is_leading, second.is_leading) == (True, False), lease
                await asyncio.sleep(0.005)
            keeping.cancel()
            stopped_at = loop.time()
            await taking
            assert not first.is_leading
            assert TERMS.renew_s < loop.time() - stopped_at

    async with asyncio.TaskGroup() as tasks:
        for lease, clocks in CLOCKS.items():
            tasks.create_task(hand_over(lease.replace(" ", "-").replace(",", ""), clocks))


async def test_losing_a_lease_to_somebody_else_ends_the_term_at_the_next_renewal(client: Client) -> None:
    ended = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    election = Election(client, "default", "robbed", "me", terms=PATIENT)
    task = asyncio.create_task(election.run(work))
    await eventually(lambda: election.is_leading)
    await client.merge(LEASE.path("default", "robbed"), {"spec": {"holderIdentity": "robber"}})
    with pytest.raises(LeadershipLostError):
        await asyncio.wait_for(task, 30)
    assert ended.is_set()
