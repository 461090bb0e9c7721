"""Operators in a process that has other work to do: what fails is restarted, and the process goes on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from homeostat.client.base import Client, Transport
from homeostat.edge.metrics.exposition import exposition
from homeostat.objects.errors import UnavailableError
from homeostat.objects.time.backoff import Backoff
from homeostat.plane import Settings, open_plane
from homeostat.runtime.description import describe
from homeostat.runtime.setup import Setup
from homeostat.runtime.supervisor import Figures, Supervisor
from homeostat.testing.clock import virtual_time
from homeostat.testing.eventually import eventually
from tests.runtime.faulty import FaultyTransport
from tests.runtime.widgets import Widgets, path, widget
from tests.runtime.wire import Wire

QUICK = Backoff(first_s=0.05, cap_s=0.1)


class Fragile(Widgets):
    """Fails as often as it shall, each time after a while."""

    def __init__(self, failures: int = 0, *, after_s: float = 0.1) -> None:
        super().__init__()
        self.failures, self.after_s = failures, after_s
        self.begun: list[float] = []

    def register(self, setup: Setup) -> None:
        super().register(setup)
        setup.run(self._job)

    async def _job(self) -> None:
        self.begun.append(asyncio.get_running_loop().time())
        if self.failures > 0:
            self.failures -= 1
            await asyncio.sleep(self.after_s)
            raise ZeroDivisionError("a mistake of ours")


class Ticking:
    """Has nothing but a job, which fails when its time has come."""

    KINDS = ()

    def __init__(self, *lives_s: float) -> None:
        self._lives_s = list(lives_s)
        self.begun: list[float] = []

    def register(self, setup: Setup) -> None:
        setup.run(self._job)

    async def _job(self) -> None:
        self.begun.append(asyncio.get_running_loop().time())
        await asyncio.sleep(self._lives_s.pop(0) if self._lives_s else 1e6)
        raise ZeroDivisionError("a mistake of ours")


@asynccontextmanager
async def supervised(supervisor: Supervisor) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(supervisor.run())
        try:
            yield
        finally:
            await supervisor.stop()
            task.cancel()


@pytest.fixture
async def client(data: Path) -> AsyncIterator[Client]:
    async with open_plane(Settings(data=data, port=0, is_open=True, operators=frozenset())) as plane:
        yield plane.client


def has_text(text: str) -> Callable[[dict[str, dict[str, str]]], bool]:
    return lambda obj: obj.get("status", {}).get("text") == text


async def test_a_paused_operator_is_set_up_and_does_nothing(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    fragile = Fragile()
    supervisor = Supervisor(client, describe("widgets", fragile), grace_s=1, is_paused=True)
    async with supervised(supervisor):
        await supervisor.installed()
        await client.create(path(), widget("a"))
        await eventually(lambda: "operator is paused" in caplog.messages)
        manager = await eventually(lambda: supervisor.manager)
        assert manager is not None
        await manager.informers.synced()
        for _ in range(20):
            await asyncio.sleep(0.01)
        assert "status" not in await client.get(path("a"))
        assert fragile.begun == []


async def test_an_operator_that_is_held_installs_its_kinds_and_begins_later(client: Client) -> None:
    fragile = Fragile()
    supervisor = Supervisor(client, describe("widgets", fragile), grace_s=1, is_held=True)
    async with supervised(supervisor):
        await supervisor.installed()
        await client.create(path(), widget("a"))
        for _ in range(20):
            await asyncio.sleep(0.005)
        assert supervisor.manager is None
        supervisor.begin()
        await eventually(lambda: client.get(path("a")), has_text("hello"))


async def test_an_operator_that_never_began_ends_at_once(client: Client) -> None:
    supervisor = Supervisor(client, describe("widgets", Fragile()), grace_s=60, is_held=True)
    async with supervised(supervisor), asyncio.timeout(5):
        await supervisor.installed()
        await supervisor.stop()
    assert supervisor.manager is None


async def test_operators_that_fail_are_replaced_and_their_figures_continue(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    fragile = Fragile(3)
    supervisor = Supervisor(client, describe("widgets", fragile), grace_s=1, backoff=QUICK)
    figures = Figures([supervisor])
    with caplog.at_level(logging.ERROR):
        async with supervised(supervisor):
            await eventually(lambda: b"homeostat_queue" in exposition(figures))
            first = supervisor.manager
            await eventually(lambda: len(fragile.begun) == 4)
            assert supervisor.manager is not first
            await client.create(path(), widget("a"))
            await eventually(lambda: client.get(path("a")), has_text("hello"))
            assert b'homeostat_queue_depth{controller="widgets"' in exposition(figures)
    told = [each for each in caplog.records if each.message == "operator failed; restarting"]
    assert [each.__dict__["failures"] for each in told] == [1, 2, 3]
    assert {each.__dict__["operator"] for each in told} == {"widgets"}
    assert [each.exc_info is not None for each in told] == [True, False, False]
    assert supervisor.manager is None
    assert list(figures.collect()) == []


@virtual_time
async def test_the_figures_of_several_operators_stand_once_each() -> None:
    client = Client(Wire())
    both = [Supervisor(client, describe(name, Ticking(1000)), grace_s=1) for name in ("one", "two")]
    async with supervised(both[0]), supervised(both[1]):
        await asyncio.sleep(1)
        lines = exposition(Figures(both)).decode().splitlines()
        series = [each.rpartition(" ")[0] for each in lines if not each.startswith("#")]
        assert "homeostat_events_written_total" in series
        assert len(series) == len(set(series))


async def test_a_server_that_refuses_definitions_at_first_gets_them_later(client: Client) -> None:
    faulty = FaultyTransport(client._transport)
    faulty.refusals.extend([UnavailableError("starting")] * 3)
    supervisor = Supervisor(Client(faulty), describe("widgets", Widgets()), grace_s=1, backoff=QUICK)
    async with supervised(supervisor):
        await eventually(lambda: client.create(path(), widget("a")))
        await eventually(lambda: client.get(path("a")), has_text("hello"))


@virtual_time
async def test_failures_in_a_row_wait_longer_and_those_after_long_work_do_not() -> None:
    ticking = Ticking(1, 1, 1, 700, 1)
    supervisor = Supervisor(Client(Wire()), describe("t", ticking), grace_s=1, chance=lambda: 0.0)
    async with supervised(supervisor):
        await asyncio.sleep(2000)
        lives = [1, 1, 1, 700, 1]
        pauses = [b - a - lived for a, b, lived in zip(ticking.begun[:-1], ticking.begun[1:], lives, strict=True)]
        assert [round(each, 3) for each in pauses] == [1, 2, 4, 1, 2]


@virtual_time
async def test_a_stop_while_nothing_runs_comes_at_once() -> None:
    supervisor = Supervisor(Client(Wire()), describe("t", Ticking(*[1] * 20)), grace_s=20)
    async with supervised(supervisor):
        await asyncio.sleep(100)
        began = asyncio.get_running_loop().time()
    assert asyncio.get_running_loop().time() == began


class Hanging:
    """Its work cannot be cancelled."""

    KINDS = ()

    def register(self, setup: Setup) -> None:
        async def hang() -> None:
            ends_at = asyncio.get_running_loop().time() + 1000
            while (left_s := ends_at - asyncio.get_running_loop().time()) > 0:
                try:
                    await asyncio.sleep(left_s)
                except asyncio.CancelledError:
                    continue

        setup.run(hang)


@virtual_time
async def test_a_stop_is_bounded_whatever_hangs() -> None:
    loop = asyncio.get_running_loop()
    supervisor = Supervisor(Client(Wire()), describe("t", Hanging()), grace_s=5)
    task = asyncio.create_task(supervisor.run())
    await asyncio.sleep(1)
    began = loop.time()
    await supervisor.stop()
    assert loop.time() - began == 6
    await asyncio.sleep(1000)
    assert task.done()


async def test_a_plane_that_serves_has_the_kinds_of_its_operators(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, port=0, is_open=True, operators=frozenset({"policy", "actions"}))
    async with open_plane(settings) as plane:
        found = await plane.client.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
        groups = {each["spec"]["group"] for each in found["items"]}

    assert len(groups) == 2


async def test_nobody_waits_for_kinds_that_cannot_be_installed(client: Client) -> None:
    faulty: list[FaultyTransport] = []

    def wrap(inner: Transport) -> Transport:
        faulty.append(FaultyTransport(inner))
        return faulty[0]

    refused = client.over(wrap)
    faulty[0].refusals.extend([UnavailableError("starting")] * 1000)
    supervisor = Supervisor(refused, describe("fragile", Fragile()), grace_s=1.0, backoff=QUICK)
    async with supervised(supervisor), asyncio.timeout(5):
        await supervisor.installed()
        assert supervisor.manager is None
