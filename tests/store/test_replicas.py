"""Several replicas on one PostgreSQL: one order, fresh reads, no errors among writers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from homeostat.store.base import (
    Delete,
    Event,
    Put,
    Record,
    RevisionMismatchError,
    UnwritableError,
)
from homeostat.store.postgres import PostgresStore
from tests.postgres import Postgres
from tests.store.contract import PODS, PostgresFactory, Subscriber, draft, names, pod, put, remove, replicas


@asynccontextmanager
async def following(*stores: PostgresStore, poll_s: float = 60) -> AsyncIterator[None]:
    tasks = [asyncio.ensure_future(store.maintain(poll_s=poll_s)) for store in stores]
    await asyncio.gather(*(store.sync() for store in stores))
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks)


class Ear(Subscriber):
    """A subscriber that can be waited for."""

    def __init__(self) -> None:
        super().__init__()
        self._is_told = asyncio.Event()

    def __call__(self, event: Event) -> None:
        super().__call__(event)
        self._is_told.set()

    async def hear(self, count: int) -> list[int]:
        async with asyncio.timeout(30):
            while len(self.events) < count:
                self._is_told.clear()
                await self._is_told.wait()
        return self.revisions


async def test_a_read_after_a_barrier_shows_what_another_replica_acknowledged(factory: PostgresFactory) -> None:
    async with replicas(factory, 2) as (one, two):
        for step in range(20):
            made = await put(one, pod("a"), str(step))
            assert await two.sync() == made.revision
            found = two.get(pod("a"))
            assert (found and found.value, two.revision) == (made.value, made.revision)


async def test_a_watcher_gets_another_replicas_changes_by_notification(factory: PostgresFactory) -> None:
    async with replicas(factory, 2) as (one, two), following(two):
        subscriber = Ear()
        await two.subscribe(PODS, since=0, deliver=subscriber)
        await put(one, pod("a"), "1")
        await put(one, pod("a"), "2")
        await remove(one, pod("a"))
        await put(one, pod("a"), "3")
        await subscriber.hear(4)

        assert subscriber.summary == [(1, "ADDED", "a"), (2, "MODIFIED", "a"), (3, "DELETED", "a"), (4, "ADDED", "a")]
        before = [event.previous and event.previous.value for event in subscriber.events]
        assert before == [None, b"<1:1>", b"<2:2>", None]
        assert [event.record.created for event in subscriber.events] == [1, 1, 1, 4]


async def test_a_watcher_gets_changes_by_polling_when_notifications_do_not_come(
    factory: PostgresFactory, postgres: Postgres
) -> None:
    async with replicas(factory, 2) as (one, two), following(two, poll_s=0.05):
        subscriber = Ear()
        await two.subscribe(PODS, since=0, deliver=subscriber)
        two._notified = lambda *_: None  # type: ignore[method-assign]
        two._listener.drop()
        await put(one, pod("a"), "1")

        assert await subscriber.hear(1) == [1]


async def test_a_revision_seen_at_one_replica_can_be_used_at_another(factory: PostgresFactory) -> None:
    async with replicas(factory, 3) as (one, two, three):
        made = await put(one, pod("a"), "1")
        await two.reach(made.revision, timeout_s=1)
        assert two.get(pod("a")) is not None

        subscriber = Subscriber()
        await three.subscribe(PODS, since=made.revision, deliver=subscriber)
        changed = await three.write(Put(pod("a"), draft("2"), made.revision))
        assert (changed.revision, subscriber.revisions) == (2, [2])
        assert names((await one.page(PODS, at=changed.revision)).records) == ["default/a"]


@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        pytest.param(Put(pod("a"), draft("mine"), 0), "lost to 1", id="create-what-another-made"),
        pytest.param(Put(pod("a"), draft("mine"), 1), 3, id="replace-what-another-made"),
        pytest.param(Put(pod("a"), draft("theirs"), 1), 1, id="change-nothing"),
        pytest.param(Delete(pod("a"), draft("mine"), 1), 3, id="delete-what-another-made"),
        pytest.param(Delete(pod("a"), draft("mine"), 2), "lost to 1", id="delete-at-another-revision"),
        pytest.param(Put(pod("b"), draft("mine"), 0), 3, id="create-beside-it"),
        pytest.param(Put(pod("c"), draft("mine"), 2), 3, id="replace-the-other"),
    ],
)
async def test_a_replica_that_is_behind_decides_by_what_the_database_has(
    factory: PostgresFactory, change: Put | Delete, outcome: int | str
) -> None:
    async with replicas(factory, 2) as (one, behind):
        await put(one, pod("a"), "theirs")
        await put(one, pod("c"), "theirs")
        if isinstance(outcome, int):
            assert (await behind.write(change)).revision == outcome
            return
        with pytest.raises(RevisionMismatchError) as error:
            await behind.write(change)
        assert error.value.current is behind.get(change.key)
        assert f"lost to {error.value.current.revision if error.value.current else 'nothing'}" == outcome


async def test_a_refused_change_costs_its_neighbours_nothing(factory: PostgresFactory) -> None:
    async with replicas(factory, 2) as (one, behind):
        for name in "abc":
            await put(one, pod(name), "theirs")
        changes = [Put(pod(name), draft("mine"), 0) for name in "abcdef"]
        results = await asyncio.gather(*(behind.write(change) for change in changes), return_exceptions=True)

        subscriber = [each.revision if isinstance(each, Record) else type(each) for each in results]
        assert subscriber == [RevisionMismatchError] * 3 + [4, 5, 6]


async def test_a_name_that_postgresql_cannot_keep_costs_its_neighbours_nothing(factory: PostgresFactory) -> None:
    async with replicas(factory, 1) as (store,):
        keys = [pod("a"), pod("nul\0"), pod("half\ud800"), pod("b"), pod("snow ☃")]
        results = await asyncio.gather(*(put(store, key, "1") for key in keys), return_exceptions=True)

        subscriber = [each.revision if isinstance(each, Record) else type(each) for each in results]
        assert subscriber == [1, UnwritableError, UnwritableError, 2, 3]


async def test_writers_over_three_replicas_lose_no_update_and_meet_no_error(factory: PostgresFactory) -> None:
    writers, steps = 12, 8

    async def count_up(store: PostgresStore, writer: int) -> None:
        done = 0
        while done < steps:
            current = store.get(pod("shared"))
            total = int(current.value.partition(b":")[2].rstrip(b">")) + 1 if current else 1
            try:
                await store.write(Put(pod("shared"), draft(str(total)), current.revision if current else 0))
            except RevisionMismatchError:
                continue
            done += 1
            await put(store, pod(f"own-{writer}"), str(done))

    async with replicas(factory, 3) as stores, following(*stores):
        watchers = [Subscriber() for _ in stores]
        for store, subscriber in zip(stores, watchers, strict=True):
            await store.subscribe(PODS, since=0, deliver=subscriber)
        await asyncio.gather(*(count_up(stores[writer % 3], writer) for writer in range(writers)))
        newest = 2 * writers * steps
        assert [await store.sync() for store in stores] == [newest] * 3

        current = stores[0].get(pod("shared"))
        assert current is not None
        assert current.value.endswith(f":{writers * steps}>".encode())
        assert [subscriber.revisions for subscriber in watchers] == [list(range(1, newest + 1))] * 3
        assert watchers[0].summary == watchers[1].summary == watchers[2].summary
        assert [list(store.select(PODS)) for store in stores[1:]] == [list(stores[0].select(PODS))] * 2


async def test_a_long_absence_is_caught_up_in_order(factory: PostgresFactory) -> None:
    async with replicas(factory, 2) as (one, two):
        subscriber = Subscriber()
        await two.subscribe(PODS, since=0, deliver=subscriber)
        for start in range(0, 1500, 100):
            await asyncio.gather(*(put(one, pod(str(each)), str(start)) for each in range(100)))
        await two.sync()

        assert subscriber.revisions == list(range(1, 1501))
        assert list(two.select(PODS)) == list(one.select(PODS))


async def test_replicas_opened_together_make_the_tables_once(factory: PostgresFactory) -> None:
    opened = await asyncio.gather(*(factory.open() for _ in range(5)))
    for number, store in enumerate(opened):
        await put(store, pod(str(number)), "1")

    assert [await store.sync() for store in opened] == [5] * 5
    for store in opened:
        await store.close()


async def test_a_replica_opened_amid_writes_begins_at_one_moment(factory: PostgresFactory) -> None:
    async with replicas(factory, 1) as (writer,):
        is_over = False

        async def write(name: int) -> None:
            step = 0
            while not is_over:
                await put(writer, pod(str(name)), str(step := step + 1))

        writing = asyncio.gather(*(write(name) for name in range(20)))
        opened = [await factory.open() for _ in range(12)]
        is_over = True
        await writing
        for store in opened:
            assert await store.sync() == writer.revision
            assert list(store.select(PODS)) == list(writer.select(PODS))
            await store.close()


async def test_large_values_are_committed_and_followed_in_portions(factory: PostgresFactory) -> None:
    """Of three megabytes each, and no statement carries them all."""
    async with replicas(factory, 2, history_events=0) as (one, two):
        large = "x" * (3 << 20)
        await asyncio.gather(*(put(one, pod(str(each)), large) for each in range(12)))
        followed, replayed = Subscriber(), Subscriber()
        await two.subscribe(PODS, since=0, deliver=followed)
        await two.sync()
        await one.subscribe(PODS, since=0, deliver=replayed)

        assert one.counters.batches == 3
        assert followed.revisions == replayed.revisions == list(range(1, 13))
        assert list(two.select(PODS)) == list(one.select(PODS))


async def test_what_a_write_returned_is_what_reads_show_even_if_the_log_had_it_first(
    factory: PostgresFactory,
) -> None:
    async with replicas(factory, 1) as (store,):
        is_over = False

        async def ask() -> None:
            while not is_over:
                await store.sync()

        asking = [asyncio.ensure_future(ask()) for _ in range(3)]
        for step in range(300):
            made = await put(store, pod("a"), str(step))
            assert store.get(pod("a")) is made
        is_over = True
        await asyncio.gather(*asking)
