"""An operator in a manager, from its caches to its end, in virtual time."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable

import pytest

from homeostat.client.base import Client, Response
from homeostat.objects.decision import Decision
from homeostat.objects.declared import Declared
from homeostat.objects.errors import ForbiddenError, TooManyRequestsError, status_of
from homeostat.objects.json import encode
from homeostat.objects.kind import CONFIG_MAP, SECRET, Kind
from homeostat.runtime.control.reconcile import Options
from homeostat.runtime.control.writes import RefusedWriteError
from homeostat.runtime.manager import Manager
from homeostat.runtime.setup import Setup
from homeostat.testing.clock import virtual_time
from tests.runtime.projections import Pod
from tests.runtime.wire import Wire, thing

GADGET = Kind("shop.example", "v1", "gadgets", "Gadget", is_namespaced=True)
GADGETS, NOTES = "/apis/shop.example/v1/gadgets", "/api/v1/configmaps"


class Gadgets:
    """Looks at each Gadget, for `takes_s`; wants to know all ConfigMaps. A job ticks every second."""

    def __init__(self, *, takes_s: float = 0.0) -> None:
        self.takes_s = takes_s
        self.error: Exception | None = None
        self.looks: Counter[str] = Counter()
        self.at_work: Counter[str] = Counter()
        self.most_at_work = 0
        self.ended: list[str] = []
        self.ticks = 0
        self.job_ended_with: BaseException | None = None

    def register(self, setup: Setup) -> None:
        self.setup = setup
        setup.watch(CONFIG_MAP, Pod)
        self.controller = setup.control(GADGET, Declared, self, Options(has_status=False, timeout_s=1000))
        setup.run(self.tick)

    async def observe(self, obj: Declared) -> None:
        self.looks[obj.metadata.name] += 1
        self.at_work[obj.metadata.name] += 1
        self.most_at_work = max(self.most_at_work, *self.at_work.values())
        await asyncio.sleep(self.takes_s)
        self.at_work[obj.metadata.name] -= 1
        if self.error is not None:
            raise self.error
        self.ended.append(obj.metadata.name)

    def decide(self, obj: Declared, world: None) -> Decision[None]:
        return Decision()

    async def act(self, obj: Declared, action: None) -> None:
        raise AssertionError("nothing was decided")

    async def tick(self) -> None:
        try:
            while True:
                self.ticks += 1
                await asyncio.sleep(1)
        except BaseException as error:
            self.job_ended_with = error
            raise


def full_wire() -> Wire:
    return Wire({GADGETS: [thing("a"), thing("b")], NOTES: []})


@virtual_time
async def test_an_operator_begins_when_all_its_caches_are_in_sync() -> None:
    wire, gadgets = full_wire(), Gadgets()
    del wire.lists[NOTES]
    manager = Manager(Client(wire))
    manager.add("gadgets", gadgets.register)
    async with manager.running():
        assert manager.troubles() == [f"gadgets: {path}: waiting for the first list" for path in (NOTES, GADGETS)]
        await asyncio.sleep(100)
        assert (gadgets.looks, gadgets.ticks) == (Counter(), 0)
        assert manager.troubles() == [f"gadgets: {NOTES}: retrying after no such kind"]
        wire.lists[NOTES] = []
        await asyncio.sleep(60)
        assert manager.troubles() == []
        assert gadgets.looks == Counter("ab")
        assert gadgets.ticks > 0


@virtual_time
async def test_an_operator_that_waits_for_its_caches_says_so_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    manager = Manager(Client(Wire({GADGETS: []})))
    manager.add("gadgets", Gadgets().register)
    with caplog.at_level(logging.WARNING, "homeostat.runtime.host"):
        async with manager.running():
            await asyncio.sleep(100)
    told = [each for each in caplog.records if each.name == "homeostat.runtime.host"]
    assert [(each.message, each.__dict__["operator"]) for each in told] == [
        ("waiting for caches to sync", "gadgets")
    ] * 3
    assert "no such kind" in told[0].__dict__["reason"]


@virtual_time
async def test_a_watch_that_fails_for_long_is_reported_and_one_that_is_reopened_is_not() -> None:
    wire = full_wire()
    manager = Manager(Client(wire))
    manager.add("gadgets", Gadgets().register)
    async with manager.running():
        await asyncio.sleep(30)
        wire.is_down = True
        wire.hang_up()
        await asyncio.sleep(20)
        assert manager.troubles() == []
        await asyncio.sleep(60)
        assert [each.partition(" for ")[0] for each in manager.troubles()] == [
            f"gadgets: {NOTES}: no event",
            f"gadgets: {GADGETS}: no event",
        ]
        wire.is_down = False
        await asyncio.sleep(60)
        assert manager.troubles() == []


@virtual_time
async def test_a_failure_to_acquire_the_lease_is_reported() -> None:
    wire = full_wire()
    wire.answer = Response(403, encode(status_of(ForbiddenError("leases are not for you"))))
    manager = Manager(Client(wire), leases="shop")
    manager.add("gadgets", Gadgets().register)
    async with manager.running():
        await asyncio.sleep(10)
        lease = "/apis/coordination.k8s.io/v1/namespaces/shop/leases/homeostat-gadgets"
        allow = 'allow get, create and update of leases.coordination.k8s.io in the namespace "shop"'
        choose = "or choose another where this account may (--lease-namespace)"
        assert manager.troubles() == [f"gadgets: {lease}: leases are not for you; {allow}, {choose}"]


@virtual_time
async def test_a_process_that_cannot_see_does_not_join_leader_election() -> None:
    wire = full_wire()
    del wire.lists[NOTES]
    manager = Manager(Client(wire), leases="shop")
    manager.add("gadgets", Gadgets().register)
    async with manager.running():
        await asyncio.sleep(100)
        assert not [each for each in wire.sent if "/leases" in each.path]
        wire.lists[NOTES] = []
        await asyncio.sleep(60)
        assert [each for each in wire.sent if "/leases" in each.path]


@virtual_time
async def test_closing_ends_what_waits_for_its_caches_at_once() -> None:
    loop = asyncio.get_running_loop()
    gadgets = Gadgets()
    manager = Manager(Client(Wire()))
    manager.add("gadgets", gadgets.register)
    async with manager.running():
        await asyncio.sleep(10)
        began = loop.time()
    assert loop.time() == began
    assert gadgets.ticks == 0


@pytest.mark.parametrize(("takes_s", "grace_s", "ended"), [(5.0, 20.0, ["a", "b"]), (50.0, 20.0, [])])
@virtual_time
async def test_closing_takes_up_nothing_more_and_lets_running_work_end_in_its_grace(
    takes_s: float, grace_s: float, ended: list[str]
) -> None:
    loop = asyncio.get_running_loop()
    wire, gadgets = full_wire(), Gadgets(takes_s=takes_s)
    manager = Manager(Client(wire), grace_s=grace_s)
    manager.add("gadgets", gadgets.register)
    async with manager.running():
        await asyncio.sleep(1)
        assert gadgets.looks == Counter("ab")
        began = loop.time()
        manager.stop()
        await asyncio.sleep(0.1)
        wire.feed(GADGETS, "ADDED", thing("late", 20))
    assert loop.time() - began <= min(takes_s, grace_s)
    assert (sorted(gadgets.ended), gadgets.looks["late"]) == (ended, 0)
    assert gadgets.controller.queue is None


@virtual_time
async def test_work_that_runs_while_another_kind_never_came_gets_its_grace_too() -> None:
    wire, gadgets = full_wire(), Gadgets(takes_s=5)
    manager = Manager(Client(wire))
    manager.add("gadgets", gadgets.register)
    async with manager.running():
        await asyncio.sleep(1)
        gadgets.setup.control(SECRET, Declared, gadgets, name="secrets")
    assert sorted(gadgets.ended) == ["a", "b"]


@virtual_time
async def test_jobs_are_cancelled_after_the_last_reconciliation() -> None:
    wire, gadgets = full_wire(), Gadgets(takes_s=10)
    manager = Manager(Client(wire))
    manager.add("gadgets", gadgets.register)
    async with manager.running():
        await asyncio.sleep(0.5)
        ticks = gadgets.ticks
    assert sorted(gadgets.ended) == ["a", "b"]
    assert gadgets.ticks >= ticks + 9
    assert isinstance(gadgets.job_ended_with, asyncio.CancelledError)


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(RefusedWriteError("a"), id="one"),
        pytest.param(ExceptionGroup("both", [RefusedWriteError("a"), RefusedWriteError("b")]), id="two at once"),
    ],
)
@virtual_time
async def test_a_job_whose_writes_were_refused_starts_again(error: Exception) -> None:
    wire, gadgets = full_wire(), Gadgets()
    errors = [error]

    async def job() -> None:
        if errors:
            raise errors.pop()
        await gadgets.tick()

    def register(setup: Setup) -> None:
        setup.run(job)

    manager = Manager(Client(wire))
    manager.add("gadgets", register)
    async with manager.running():
        await asyncio.sleep(5)
        assert gadgets.ticks == 4


@virtual_time
async def test_a_job_may_end_before_the_rest() -> None:
    async def once() -> None:
        done.set()

    done = asyncio.Event()
    wire, gadgets = full_wire(), Gadgets()
    manager = Manager(Client(wire))
    manager.add("gadgets", gadgets.register).run(once)
    async with manager.running():
        await done.wait()
        await asyncio.sleep(1)
        wire.feed(GADGETS, "ADDED", thing("c", 20))
        await asyncio.sleep(1)
        assert gadgets.looks["c"] == 1


@virtual_time
async def test_an_object_is_never_reconciled_twice_at_once_and_its_last_change_is_reconciled() -> None:
    wire, gadgets = full_wire(), Gadgets(takes_s=10)
    manager = Manager(Client(wire))
    manager.add("gadgets", gadgets.register)
    async with manager.running():
        await asyncio.sleep(1)
        for version in range(20, 40):
            wire.feed(GADGETS, "MODIFIED", thing("a", version, turn=str(version)))
            await asyncio.sleep(1.1)
        looks = gadgets.looks["a"]
        await asyncio.sleep(20)
        assert gadgets.most_at_work == 1
        # Twenty changes in the time of two reconciliations: one for all that came during the one before.
        assert (looks, gadgets.looks["a"]) == (3, 4)


@virtual_time
async def test_what_just_happened_is_reconciled_before_what_was_there() -> None:
    wire, gadgets = full_wire(), Gadgets(takes_s=10)
    wire.lists[GADGETS] = [thing(f"old-{number}") for number in range(100)]
    manager = Manager(Client(wire))
    manager.add("gadgets", gadgets.register)
    async with manager.running():
        await asyncio.sleep(5)
        wire.feed(GADGETS, "ADDED", thing("fresh", 20))
        await asyncio.sleep(10)
        assert gadgets.looks["fresh"] == 1
        assert gadgets.looks.total() < 30


@virtual_time
async def test_a_server_that_asks_for_a_pause_of_days_is_asked_again_after_minutes() -> None:
    gadgets = Gadgets()
    gadgets.error = TooManyRequestsError("come back next year", retry_after_s=31_536_000)
    manager = Manager(Client(full_wire()))
    manager.add("gadgets", gadgets.register)
    async with manager.running():
        await asyncio.sleep(200)
        assert gadgets.looks["a"] == 1
        await asyncio.sleep(200)
        assert gadgets.looks["a"] == 2


async def _fail() -> None:
    await asyncio.sleep(5)
    raise ZeroDivisionError("a mistake of ours")


def _break(setup: Setup) -> None:
    """A handler that raises: the informers end with it."""

    def raising(change: object) -> None:
        raise ZeroDivisionError("a mistake of ours")

    setup.watch(CONFIG_MAP, Pod).add_handler(raising)


@pytest.mark.parametrize(
    "sabotage",
    [lambda setup: setup.run(_fail), _break],
    ids=["a job", "a handler"],
)
@virtual_time
async def test_a_mistake_ends_everything_and_loudly(sabotage: Callable[[Setup], None]) -> None:
    wire, gadgets = full_wire(), Gadgets(takes_s=100)
    wire.lists[NOTES].append(thing("n"))
    manager = Manager(Client(wire))
    sabotage(manager.add("gadgets", gadgets.register))

    async def block() -> None:
        async with manager.running():
            await asyncio.sleep(1000)

    with pytest.raises(ExceptionGroup) as caught:
        await block()
    assert caught.group_contains(ZeroDivisionError, match="a mistake of ours")
    assert asyncio.get_running_loop().time() < 10
    assert gadgets.ended == []
    assert len(asyncio.all_tasks()) == 1


@virtual_time
async def test_whatever_ends_the_block_stops_the_manager() -> None:
    gadgets = Gadgets(takes_s=5)
    manager = Manager(Client(full_wire()))
    manager.add("gadgets", gadgets.register)

    async def block() -> None:
        async with manager.running():
            await asyncio.sleep(1)
            raise LookupError("something else")

    with pytest.raises(LookupError, match="something else"):
        await block()
    assert sorted(gadgets.ended) == ["a", "b"]
    assert len(asyncio.all_tasks()) == 1


@virtual_time
async def test_a_block_that_is_cancelled_stops_the_manager_with_its_grace() -> None:
    gadgets = Gadgets(takes_s=5)
    manager = Manager(Client(full_wire()))
    manager.add("gadgets", gadgets.register)

    async def block() -> None:
        async with manager.running():
            await asyncio.sleep(1000)

    task = asyncio.create_task(block())
    await asyncio.sleep(1)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert sorted(gadgets.ended) == ["a", "b"]
    assert len(asyncio.all_tasks()) == 1


@virtual_time
async def test_a_manager_that_was_stopped_before_it_ran_does_nothing() -> None:
    gadgets = Gadgets()
    manager = Manager(Client(full_wire()))
    manager.add("gadgets", gadgets.register)
    manager.stop()
    async with asyncio.timeout(1):
        await manager.run()
    assert (gadgets.looks, gadgets.ticks) == (Counter(), 0)
