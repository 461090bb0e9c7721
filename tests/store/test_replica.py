"""Readers and compaction that meet half-way: an archive that changes while it is read."""

from __future__ import annotations

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
