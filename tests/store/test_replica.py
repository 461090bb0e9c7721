"""Readers and compaction that meet half-way: an archive that changes while it is read."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from homeostat.store.base import CompactedError, Event, Key, Put, Record, Scope, StoreError
from homeostat.store.history import History, Past, rewind
from homeostat.store.log import events_of, plan
from homeostat.store.replica import Replica
from homeostat.store.state import State
from tests.holds import measured_turns
from tests.store.contract import PODS, Subscriber, draft, pod


class Shelf:
    """An archive of ten events that are compacted away while someone reads them."""

    def __init__(self, lacks_rows: bool) -> None:
        batch = [Put(pod("a"), draft(str(each)), each) for each in range(10)]
        self.all = events_of(plan(batch, 0, lambda _: None))
        self.replica = Replica(self, State([self.all[-1].record], revision=10), History(10), revision=10, oldest=0)
        self.is_compacting = True
        self._lacks_rows = lacks_rows

    async def events(self, scope: Scope, *, after: int, upto: int) -> tuple[list[Event], int]:
        return self._read(self.all[after:upto]), upto

    async def first_changes(self, scope: Scope, *, after: int, upto: int) -> dict[Key, int]:
        return {pod("a"): after}

    async def records(self, revisions: Sequence[int]) -> list[Record]:
        return [event.record for event in self._read([self.all[each - 1] for each in revisions])]

    def _read(self, events: list[Event]) -> list[Event]:
        if self.is_compacting:
            self.replica.oldest = 8
            if self._lacks_rows:
                raise StoreError("the log lacks a row")
            return events[3:]
        return events


@pytest.mark.parametrize("lacks_rows", [False, True], ids=["fewer-rows", "a-row-is-missed"])
async def test_what_was_read_while_it_was_compacted_is_not_used(lacks_rows: bool) -> None:
    shelf, subscriber = Shelf(lacks_rows), Subscriber()
    with pytest.raises(CompactedError):
        await shelf.replica.subscribe(PODS, since=2, deliver=subscriber)
    assert subscriber.events == []

    shelf = Shelf(lacks_rows)
    with pytest.raises(CompactedError):
        await shelf.replica.page(PODS, at=5)


async def test_what_was_read_untouched_is_used() -> None:
    shelf, subscriber = Shelf(lacks_rows=False), Subscriber()
    shelf.is_compacting = False
    await shelf.replica.subscribe(PODS, since=2, deliver=subscriber)

    assert subscriber.revisions == [3, 4, 5, 6, 7, 8, 9, 10]
    assert list((await shelf.replica.page(PODS, at=5)).records) == [shelf.all[4].record]


async def test_a_replay_leaves_nothing_of_its_readers_in_memory() -> None:
    batch = [Put(pod("a"), draft(str(each)), each) for each in range(3)]
    events = events_of(plan(batch, 0, lambda _: None))
    replica = Replica(Shelf(lacks_rows=False), State([], revision=0), History(0), revision=0, oldest=0)
    replica.absorb(events)

    def frame(event: Event) -> None:
        event.frames = {"view": event.record.value}

    await replica.subscribe(PODS, since=0, deliver=frame)
    assert [event.frames for event in events] == [None] * 3


class Steps:
    """How much a subscriber or a crowd of them gets in one step of the event loop."""

    def __init__(self) -> None:
        self.most = self._now = 0

    def count(self, amount: int) -> None:
        self._now += amount
        self.most = max(self.most, self._now)

    async def follow(self) -> None:
        while True:
            self._now = 0
            await asyncio.sleep(0)


def replica_of(texts: Sequence[str]) -> Replica:
    replica = Replica(Shelf(lacks_rows=False), State([], revision=0), History(0), revision=0, oldest=0)
    replica.absorb(
        events_of(plan([Put(pod(str(at)), draft(text), 0) for at, text in enumerate(texts)], 0, lambda _: None))
    )
    return replica


def commit_one(replica: Replica) -> None:
    change = Put(pod("another"), draft("x"), 0)
    events = events_of(plan([change], replica.revision, lambda _: None))
    replica.absorb(events)
    replica.announce(events)


async def test_a_crowd_of_subscribers_that_resume_takes_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("homeostat.edge.turn.TURN_S", 0.0)
    steps, crowd = Steps(), [Subscriber() for _ in range(20)]
    replica = replica_of(["x"] * 600)
    following = asyncio.ensure_future(steps.follow())

    async def subscribe(subscriber: Subscriber) -> None:
        def deliver(event: Event) -> None:
            steps.count(1)
            subscriber(event)

        await replica.subscribe(PODS, since=0, deliver=deliver)

    await asyncio.gather(*map(subscribe, crowd))
    following.cancel()

    assert all(each.revisions == list(range(1, 601)) for each in crowd)
    assert steps.most <= 256, "one subscriber's turn, and not that of each"
    commit_one(replica)
    assert all(each.revisions[-1] == 601 for each in crowd)


async def test_a_subscriber_gets_few_large_events_in_one_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("homeostat.edge.turn.TURN_S", 0.0)
    steps, large = Steps(), "x" * (3 << 19)
    replica = replica_of([large] * 4)
    following = asyncio.ensure_future(steps.follow())
    subscriber = Subscriber()

    def deliver(event: Event) -> None:
        steps.count(1)
        subscriber(event)

    await asyncio.gather(*(replica.subscribe(PODS, since=0, deliver=deliver) for _ in range(3)))
    following.cancel()

    assert subscriber.revisions == [*[1] * 3, *[2] * 3, *[3] * 3, *[4] * 3]
    assert steps.most == 1


async def test_a_subscriber_that_leaves_during_its_replay_gets_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("homeostat.edge.turn.TURN_S", 0.0)
    replica, gone, stays = replica_of(["x"] * 2_000), Subscriber(), Subscriber()
    has_begun = asyncio.Event()

    def deliver(event: Event) -> None:
        gone(event)
        has_begun.set()

    leaving = asyncio.ensure_future(replica.subscribe(PODS, since=0, deliver=deliver))
    staying = asyncio.ensure_future(replica.subscribe(PODS, since=0, deliver=stays))
    await has_begun.wait()
    leaving.cancel()
    await staying

    received = len(gone.events)
    commit_one(replica)
    assert len(gone.events) == received <= 512
    assert stays.revisions == list(range(1, 2_002))


async def test_a_subscriber_that_leaves_does_not_interrupt_the_reader_of_the_log() -> None:
    is_reading, may_end, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    class Slow(Shelf):
        async def events(self, scope: Scope, *, after: int, upto: int) -> tuple[list[Event], int]:
            is_reading.set()
            await may_end.wait()
            ended.set()
            return [], upto

    subscriber = Subscriber()
    leaving = asyncio.ensure_future(Slow(lacks_rows=False).replica.subscribe(PODS, since=0, deliver=subscriber))
    await is_reading.wait()
    leaving.cancel()
    may_end.set()

    await asyncio.wait_for(ended.wait(), 10)
    assert leaving.cancelled()


async def test_an_older_state_of_many_records_is_put_together_beside_the_event_loop() -> None:
    keys = [pod(f"p{number:05}") for number in range(40_000)]
    records = [Record(key, b"", revision, revision) for revision, key in enumerate(keys, 1)]
    made = events_of(plan([Put(keys[0], draft("new"), 1)], 40_000, {keys[0]: records[0]}.get))
    replica = Replica(Shelf(False), State(records, revision=40_000), History(40_000), revision=40_000, oldest=0)
    replica.absorb(made)
    async with measured_turns() as turns:
        page = await replica.page(PODS, at=40_000)
    assert page.records == records
    assert turns.longest_s < 0.02, "on the loop it would take 50 ms"


def test_later_changes_do_not_alter_a_state_that_was_rewound() -> None:
    keys = [pod(name) for name in "abc"]
    state = State([Record(key, b"", revision, revision) for revision, key in enumerate(keys, 1)], revision=3)
    undo: dict[Key, Past] = {keys[0]: None, pod("d"): 7}
    rewound = rewind(state, PODS, undo, after=None, limit=0)
    for event in events_of(plan([Put(pod("aa"), draft("new"), 0)], 3, lambda _: None)):
        state.apply(event)
    chosen, remaining = rewound.first(2)
    assert [each if isinstance(each, int) else each.key.name for each in chosen] == ["b", "c"]
    assert remaining == 1
