"""Elections on a real plane, in virtual time: the plane has a thread and a clock of its own, candidates share ours."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from homeostat.client.base import Client, Response, UnreachableError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import LEASE
from homeostat.plane import Plane, Settings, open_plane
from homeostat.runtime.leader import Election, LeadershipLostError, Terms, unique_identity
from homeostat.testing.clock import virtual_time

PATH = LEASE.path("default", "operators")
LONGEST_POLL_S = 2.0 * 2.2


class Road:
    """To a plane on another thread: requests take no virtual time. Blocked, they take for ever, or are refused."""

    def __init__(self, plane: Plane, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = plane.client._transport, loop
        self.is_blocked = self.is_refused = False

    async def send(
        self, method: str, path: str, *, query: str = "", body: bytes = b"", content_type: str = "", accept: str = ""
    ) -> Response:
        if self.is_refused:
            raise UnreachableError("connection refused", was_sent=False)
        if self.is_blocked:
            await asyncio.Event().wait()
        await asyncio.sleep(0)
        sent = self._transport.send(method, path, query=query, body=body, content_type=content_type, accept=accept)
        return asyncio.run_coroutine_threadsafe(sent, self._loop).result(10)

    async def stream(self, path: str, *, query: str = "", accept: str = "") -> Response | AsyncIterator[bytes]:
        raise AssertionError(f"{path}: an election does not watch ({query}, {accept})")


OpenRoad = Callable[[], Road]


@pytest.fixture
def open_road(tmp_path: Path) -> Iterator[OpenRoad]:
    loop, ready = asyncio.new_event_loop(), threading.Event()
    stop = asyncio.Event()
    planes: list[Plane] = []

    async def serve() -> None:
        settings = Settings(data=tmp_path / "data", port=0, operators=frozenset(), is_open=True)
        async with open_plane(settings) as plane:
            planes.append(plane)
            ready.set()
            await stop.wait()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(serve())

    thread = threading.Thread(target=run)
    thread.start()
    assert ready.wait(20)
    yield lambda: Road(planes[0], loop)
    loop.call_soon_threadsafe(stop.set)
    thread.join()


def candidate(road: Road, identity: str, *, chance: float = 0.5, terms: Terms | None = None) -> Election:
    terms = terms or Terms()
    return Election(Client(road), "default", "operators", identity, terms=terms, chance=lambda: chance)


async def for_ever() -> None:
    await asyncio.sleep(1e9)


@asynccontextmanager
async def running(*elections: Election, work: Callable[[], Awaitable[None]] = for_ever) -> AsyncIterator[None]:
    """Each rejoins the election after every loss, as a restarted process does."""

    async def stand(election: Election) -> None:
        while True:
            with suppress(LeadershipLostError):
                await election.run(work)

    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(stand(each)) for each in elections]
        yield
        for each in running:
            each.cancel()


async def until(holds: Callable[[], bool], *, within_s: float) -> float:
    """How long it took."""
    loop = asyncio.get_running_loop()
    started = loop.time()
    async with asyncio.timeout(within_s):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    return loop.time() - started


async def lease(road: Road) -> JsonObject:
    found: JsonObject = (await Client(road).get(PATH))["spec"]
    return found


@virtual_time
async def test_there_is_at_most_one_leader_at_any_moment(open_road: OpenRoad) -> None:
    roads = [open_road() for _ in range(3)]
    elections = [candidate(road, f"c{at}", chance=at / 3) for at, road in enumerate(roads)]
    seen: set[str] = set()
    workers = 0

    async def work() -> None:
        nonlocal workers
        workers += 1
        assert workers == 1
        try:
            await for_ever()
        finally:
            workers -= 1

    async with running(*elections, work=work):
        for turn in range(3000):
            if turn % 300 == 100:
                for road, each in zip(roads, elections, strict=True):
                    road.is_blocked = each.is_leading
            leading = [each.identity for each in elections if each.is_leading]
            assert len(leading) <= 1, f"at {turn * 0.1:.1f} s"
            seen.update(leading)
            await asyncio.sleep(0.1)
        for road in roads:
            road.is_blocked = False
    assert len(seen) >= 2


@pytest.mark.parametrize("fault", ["is_blocked", "is_refused"])
@virtual_time
async def test_a_leader_that_cannot_renew_steps_down_before_another_can_lead(open_road: OpenRoad, fault: str) -> None:
    road = open_road()
    first, second = candidate(road, "first"), candidate(open_road(), "second")
    async with running(first):
        await until(lambda: first.is_leading, within_s=1)
        async with running(second):
            await asyncio.sleep(60)
            assert (first.is_leading, second.is_leading) == (True, False)
            setattr(road, fault, True)
            stepped_down_s = await until(lambda: not first.is_leading, within_s=10.1)
            assert not second.is_leading
            led_s = stepped_down_s + await until(lambda: second.is_leading, within_s=15 + LONGEST_POLL_S)
            setattr(road, fault, False)
    assert stepped_down_s + 2.9 < led_s <= 15 + LONGEST_POLL_S


@virtual_time
async def test_a_leader_that_stops_renewing_is_replaced(open_road: OpenRoad) -> None:
    first, second = candidate(open_road(), "first"), candidate(open_road(), "second")
    await first.acquire()
    async with running(second):
        took_s = await until(lambda: second.is_leading, within_s=60)
        spec = await lease(open_road())
    assert 14.9 < took_s < 15.1
    assert (spec["holderIdentity"], spec["leaseTransitions"]) == ("second", 1)


@virtual_time
async def test_a_released_lease_is_acquired_at_the_next_attempt(open_road: OpenRoad) -> None:
    first, second = candidate(open_road(), "first"), candidate(open_road(), "second")
    async with running(first):
        await until(lambda: first.is_leading, within_s=1)
        task = asyncio.create_task(second.acquire())
        await asyncio.sleep(30)
    assert "holderIdentity" not in await lease(open_road())
    assert await until(lambda: second.is_leading, within_s=LONGEST_POLL_S) <= LONGEST_POLL_S
    await task


@virtual_time
async def test_losing_the_lease_cancels_the_work(open_road: OpenRoad) -> None:
    election = candidate(open_road(), "first")
    ended: list[str] = []

    async def work() -> None:
        try:
            await for_ever()
        finally:
            ended.append("cancelled")

    task = asyncio.create_task(election.run(work))
    await until(lambda: election.is_leading, within_s=1)
    await Client(open_road()).merge(PATH, {"spec": {"holderIdentity": "somebody"}})
    with pytest.raises(LeadershipLostError, match="first is no longer the leader"):
        await task
    assert ended == ["cancelled"]
    assert (await lease(open_road()))["holderIdentity"] == "somebody"


@virtual_time
async def test_a_request_that_hangs_does_not_hold_the_work_beyond_the_term(open_road: OpenRoad) -> None:
    road = open_road()
    election = candidate(road, "first")
    ended_at: list[float] = []

    async def work() -> None:
        try:
            await for_ever()
        finally:
            ended_at.append(asyncio.get_running_loop().time())

    task = asyncio.create_task(election.run(work))
    await until(lambda: election.is_leading, within_s=1)
    blocked_at = asyncio.get_running_loop().time()
    road.is_blocked = True
    with pytest.raises(LeadershipLostError):
        await task
    assert 9.9 < ended_at[0] - blocked_at <= 10.0


@virtual_time
async def test_a_lease_does_not_expire_because_its_own_timestamps_are_old(open_road: OpenRoad) -> None:
    spec = {"holderIdentity": "ancient", "leaseDurationSeconds": 15, "renewTime": "2001-01-01T00:00:00.000000Z"}
    await Client(open_road()).create(LEASE.path("default"), {"metadata": {"name": "operators"}, "spec": spec})
    second = candidate(open_road(), "second")
    task = asyncio.create_task(second.acquire())
    assert 14.9 < await until(lambda: second.is_leading, within_s=60) < 15.1
    await task


@virtual_time
async def test_a_changed_label_is_not_a_renewal(open_road: OpenRoad) -> None:
    first, second = candidate(open_road(), "first"), candidate(open_road(), "second")
    await first.acquire()
    task = asyncio.create_task(second.acquire())
    await asyncio.sleep(10)
    await Client(open_road()).merge(PATH, {"metadata": {"labels": {"seen": "yes"}}})
    assert await until(lambda: second.is_leading, within_s=60) < 5.1
    await task
    assert (await Client(open_road()).get(PATH))["metadata"]["labels"] == {"seen": "yes"}


@virtual_time
async def test_a_stop_renews_until_the_work_has_ended(open_road: OpenRoad) -> None:
    first, second = candidate(open_road(), "first"), candidate(open_road(), "second")
    ended_at: list[float] = []

    async def work() -> None:
        try:
            await for_ever()
        finally:
            await asyncio.sleep(40)
            assert not second.is_leading
            ended_at.append(asyncio.get_running_loop().time())

    task = asyncio.create_task(first.run(work))
    await until(lambda: first.is_leading, within_s=1)
    waiting = asyncio.create_task(second.acquire())
    task.cancel()
    await until(lambda: second.is_leading, within_s=60)
    await waiting
    assert task.cancelled()
    assert 0 <= asyncio.get_running_loop().time() - ended_at[0] <= LONGEST_POLL_S


@virtual_time
async def test_work_that_ends_returns_its_result_and_releases_the_lease(open_road: OpenRoad) -> None:
    async def work() -> int:
        await asyncio.sleep(100)
        return 42

    assert await candidate(open_road(), "first").run(work) == 42
    assert "holderIdentity" not in await lease(open_road())


@virtual_time
async def test_work_that_fails_raises_and_releases_the_lease(open_road: OpenRoad) -> None:
    async def work() -> None:
        raise TimeoutError("of the work's own")

    with pytest.raises(ExceptionGroup) as caught:
        await candidate(open_road(), "first").run(work)
    assert [str(each) for each in caught.value.exceptions] == ["of the work's own"]
    assert "holderIdentity" not in await lease(open_road())


@virtual_time
async def test_a_leader_whose_lease_is_deleted_steps_down_at_its_next_renewal(open_road: OpenRoad) -> None:
    election = candidate(open_road(), "first")
    await election.acquire()
    await Client(open_road()).delete(PATH)
    started = asyncio.get_running_loop().time()
    await election.lost()
    assert asyncio.get_running_loop().time() - started == pytest.approx(2.0)


@virtual_time
async def test_the_timestamps_of_a_lease_are_wall_clock_times(open_road: OpenRoad) -> None:
    moments = iter([datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)])
    election = Election(Client(open_road()), "default", "operators", "first", now=lambda: next(moments))
    await election.acquire()
    with suppress(TimeoutError):
        async with asyncio.timeout(3):
            await election.lost()
    spec = await lease(open_road())
    assert (spec["acquireTime"], spec["renewTime"]) == ("2026-01-01T00:00:00.000000Z", "2026-01-02T00:00:00.000000Z")


@virtual_time
async def test_a_failure_to_acquire_the_lease_is_logged_with_a_remedy_and_again_every_minute(
    open_road: OpenRoad, caplog: pytest.LogCaptureFixture
) -> None:
    election = Election(Client(open_road()), "nowhere", "operators", "first")
    with suppress(TimeoutError):
        async with asyncio.timeout(150):
            await election.acquire()
    told = [vars(each)["remedy"] for each in caplog.records]
    assert told == ['create the namespace "nowhere", or choose another for the leases (--lease-namespace)'] * 3
    assert election.trouble.endswith(told[0])


@virtual_time
async def test_a_standby_logs_the_leader_once_and_again_when_the_leader_changes(
    open_road: OpenRoad, caplog: pytest.LogCaptureFixture
) -> None:
    def told() -> list[str]:
        return [vars(each)["leader"] for each in caplog.records if each.message.startswith("standing by")]

    async def hold(holder: str) -> None:
        spec = {"holderIdentity": holder, "leaseDurationSeconds": 3600}
        await Client(open_road()).apply(PATH, LEASE.new("operators", spec=spec), manager="test", force=True)
        await asyncio.sleep(60)

    caplog.set_level("INFO", logger="homeostat.runtime.leader")
    await hold("first")
    async with running(candidate(open_road(), "late")):
        await hold("first")
        assert told() == ["first"]
        await hold("second")
        assert told() == ["first", "second"]


@pytest.mark.parametrize(
    "terms",
    [
        pytest.param((10, 10.0, 2.0), id="no time to stop"),
        pytest.param((15, 2.0, 2.0), id="no time for a retry"),
        pytest.param((15, 10.0, 0.0), id="no pause"),
    ],
)
def test_terms_that_cannot_be_kept_are_refused(terms: tuple[int, float, float]) -> None:
    with pytest.raises(ValueError, match="wants lease_s"):
        Terms(lease_s=terms[0], renew_s=terms[1], retry_s=terms[2])


def test_an_identity_is_never_given_twice() -> None:
    one, other = unique_identity(), unique_identity()
    assert one != other
    assert one.partition("/")[0] == other.partition("/")[0]
