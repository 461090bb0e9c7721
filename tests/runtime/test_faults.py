"""Whatever happens between an informer and its server, in the end the cache equals the server and no change is lost."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from homeostat.client.base import Client, Transport
from homeostat.client.endpoint.kubeconfig import load_endpoint
from homeostat.client.http.transport import open_transport
from homeostat.objects.errors import (
    ApiError,
    ExpiredError,
    InternalError,
    TimedOutError,
    TooManyRequestsError,
    UnavailableError,
    status_of,
)
from homeostat.objects.json import encode
from homeostat.plane import Plane, Settings, open_plane
from homeostat.runtime.cache.informer import Informer, Informers
from homeostat.runtime.watch.source import Source
from homeostat.runtime.watch.watcher import Pace
from tests.runtime.faulty import (
    CONFIG_MAPS,
    QUICK,
    FaultyTransport,
    Mirror,
    Proxy,
    agree,
    eventually,
    open_proxy,
    remove,
    write,
)
from tests.runtime.projections import Pod
from tests.served import serve_plane


@pytest.fixture
async def plane(data: Path) -> AsyncIterator[Plane]:
    async with open_plane(Settings(data=data, port=0, operators=frozenset(), is_open=True)) as plane:
        yield plane


@asynccontextmanager
async def following(transport: Transport, pace: Pace = QUICK) -> AsyncIterator[tuple[Informer[Pod], Mirror]]:
    informers = Informers(Client(transport), pace=pace)
    informer = informers.get(Source(CONFIG_MAPS), Pod)
    mirror = Mirror(informer)
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(informers.run())
        yield informer, mirror
        task.cancel()


@asynccontextmanager
async def proxied(plane: Plane, pace: Pace = QUICK) -> AsyncIterator[tuple[Proxy, Informer[Pod], Mirror]]:
    assert plane.server is not None
    async with open_proxy(plane.server.port) as proxy:
        endpoint = replace(load_endpoint([plane.kubeconfig_path]), server=f"http://127.0.0.1:{proxy.port}")
        async with open_transport(endpoint) as transport, following(transport, pace) as (informer, mirror):
            yield proxy, informer, mirror


async def churn(client: Client, *, rounds: int, pause_s: float = 0.0) -> None:
    """Ten objects that come, change and go."""
    for turn in range(rounds):
        name = f"c{turn % 10}"
        await write(client, name, f"turn {turn}")
        if turn % 7 == 3:
            await remove(client, name)
        await asyncio.sleep(pause_s)


REFUSALS = [
    pytest.param(TooManyRequestsError("slow down"), id="429"),
    pytest.param(UnavailableError("starting"), id="503"),
    pytest.param(ExpiredError("too old resource version"), id="410"),
    pytest.param(InternalError("broken"), id="500"),
    pytest.param(TimedOutError("too large resource version"), id="504"),
]


@pytest.mark.parametrize("error", REFUSALS)
async def test_a_storm_of_refusals_passes(plane: Plane, error: ApiError) -> None:
    transport = FaultyTransport(plane.client._transport)
    transport.refusals.extend([error] * 5)
    transport.stream_refusals.extend([error] * 5)
    async with following(transport) as (informer, mirror):
        await churn(plane.client, rounds=20)

        async def is_over() -> bool:
            return not transport.stream_refusals

        await eventually(is_over)
        await agree(mirror, plane.client)
    assert informer.watcher.restarts >= 5


@pytest.mark.parametrize("error", REFUSALS)
async def test_a_storm_of_errors_in_the_stream_passes(plane: Plane, error: ApiError) -> None:
    transport = FaultyTransport(plane.client._transport)
    left = [15]
    refusal = encode({"type": "ERROR", "object": status_of(error)})

    def bend(line: bytes) -> list[bytes]:
        left[0] -= 1
        return [refusal] if left[0] >= 0 and left[0] % 2 else [line]

    transport.bend = bend
    async with following(transport) as (informer, mirror):
        await churn(plane.client, rounds=40, pause_s=0.005)
        await agree(mirror, plane.client)
    assert informer.watcher.restarts >= 5


async def test_events_that_come_twice_are_delivered_once(plane: Plane) -> None:
    transport = FaultyTransport(plane.client._transport)
    before: list[bytes] = []

    def bend(line: bytes) -> list[bytes]:
        before.append(line)
        return [line, line, *before[-4:]]

    async with following(transport) as (informer, mirror):
        await informer.synced()
        transport.bend = bend
        await churn(plane.client, rounds=30)
        await agree(mirror, plane.client)
        assert mirror.changes == 30 + len([turn for turn in range(30) if turn % 7 == 3])


async def test_events_that_are_dropped_are_found_by_the_next_list(plane: Plane) -> None:
    transport = FaultyTransport(plane.client._transport)
    chance = random.Random(1)
    async with following(transport, msgspec.structs.replace(QUICK, relist_every_s=0.3)) as (informer, mirror):
        await informer.synced()
        transport.bend = lambda line: [] if b'"BOOKMARK"' not in line and chance.random() < 0.5 else [line]
        await churn(plane.client, rounds=40)
        await agree(mirror, plane.client)
    assert (informer.relists > 0, informer.watcher.restarts) == (True, 0)


async def test_lines_that_are_cut_short_are_asked_for_again(plane: Plane) -> None:
    transport = FaultyTransport(plane.client._transport)
    chance = random.Random(2)
    transport.bend = lambda line: [line[: len(line) // 2]] if chance.random() < 0.1 else [line]
    async with following(transport) as (informer, mirror):
        await churn(plane.client, rounds=60, pause_s=0.002)
        transport.bend = lambda line: [line]
        await agree(mirror, plane.client)
    assert informer.watcher.restarts > 0


async def test_connections_that_are_reset_in_the_middle_of_a_line_are_resumed(plane: Plane) -> None:
    chance = random.Random(3)
    async with proxied(plane) as (proxy, informer, mirror):
        await informer.synced()
        proxy.budget = lambda: chance.randrange(200, 6_000)
        proxy.reset()
        await churn(plane.client, rounds=150, pause_s=0.005)
        proxy.budget = lambda: None
        await agree(mirror, plane.client)
    assert informer.watcher.restarts > 5


async def test_a_connection_that_brings_nothing_more_is_reopened(plane: Plane) -> None:
    async with proxied(plane) as (proxy, informer, mirror):
        await write(plane.client, "before")
        await agree(mirror, plane.client)
        proxy.is_frozen = True
        await churn(plane.client, rounds=10)
        assert list(mirror.versions) == ["before"]

        async def is_reopened() -> bool:
            return informer.watcher.restarts > 0

        await eventually(is_reopened)
        proxy.is_frozen = False
        await agree(mirror, plane.client)


async def test_a_server_that_is_killed_and_comes_back_is_followed_again(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with ExitStack() as stack:
        served = await asyncio.to_thread(stack.enter_context, serve_plane(data))
        async with open_transport(load_endpoint([served.kubeconfig])) as transport:
            client = Client(transport)
            async with following(transport) as (informer, mirror):
                await churn(client, rounds=10)
                await agree(mirror, client)
                served.kill()
                await eventually(_has_restarted(informer))
                await asyncio.to_thread(stack.enter_context, serve_plane(data, served.port))
                await churn(client, rounds=10)
                await remove(client, "c0")
                await agree(mirror, client)


def _has_restarted(informer: Informer[Pod]) -> Callable[[], Awaitable[bool]]:
    async def has_restarted() -> bool:
        return informer.watcher.restarts > 0

    return has_restarted


class JumpingLoop(asyncio.SelectorEventLoop):
    """A loop whose clock can be put forward, as when a machine sleeps."""

    offset_s = 0.0

    def time(self) -> float:
        return super().time() + self.offset_s


@pytest.mark.parametrize("pace", [QUICK, Pace()], ids=["quick", "default"])
def test_a_clock_that_jumps_loses_nothing(tmp_path: Path, pace: Pace) -> None:
    async def jump() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, JumpingLoop)
        settings = Settings(data=tmp_path, port=0, operators=frozenset())
        async with open_plane(settings) as plane, following(plane.client._transport, pace) as (informer, mirror):
            await informer.synced()
            for _ in range(5):
                await churn(plane.client, rounds=5)
                loop.offset_s += 7200.0
                await churn(plane.client, rounds=5)
                await asyncio.sleep(0.01)
            await agree(mirror, plane.client, within_s=86_400)
            assert informer.relists > 0

    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        runner.run(jump())
