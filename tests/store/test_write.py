"""Contract: creating, replacing and deleting under an expected revision."""

from __future__ import annotations

import asyncio

import pytest

from homeostat.store.base import Change, Delete, Put, Record, RevisionMismatchError, Store, StoreError
from tests.store.contract import PODS, StoreFactory, Subscriber, draft, pod, put, remove


async def test_the_first_revision_is_one_and_each_change_takes_the_next(store: Store) -> None:
    assert store.revision == 0

    made = [await put(store, pod("a"), "1"), await put(store, pod("b"), "1"), await put(store, pod("a"), "2")]

    assert [record.revision for record in made] == [1, 2, 3]
    assert store.revision == 3


async def test_a_value_has_its_revision_written_into_it(store: Store) -> None:
    await put(store, pod("a"), "1")
    record = await put(store, pod("a"), "2")

    assert record.value == b"<2:2>"
    assert store.get(pod("a")) is record


async def test_a_replaced_record_keeps_the_revision_of_its_creation(store: Store) -> None:
    await put(store, pod("other"), "1")
    first = await put(store, pod("a"), "1")
    second = await put(store, pod("a"), "2")

    assert (first.created, second.created) == (2, 2)


async def test_a_record_put_after_its_deletion_is_a_new_one(store: Store) -> None:
    await put(store, pod("a"), "1")
    await remove(store, pod("a"))
    again = await put(store, pod("a"), "1")

    assert (again.created, again.revision) == (3, 3)


async def test_the_note_of_a_put_stays_with_its_record(store: Store) -> None:
    await store.write(Put(pod("a"), draft("1"), 0, note="parsed"))

    found = store.get(pod("a"))
    assert found is not None
    assert found.note == "parsed"


CASES = [
    pytest.param("absent", Put(pod("a"), draft("x"), 0), None, id="create-where-nothing-is"),
    pytest.param("absent", Put(pod("a"), draft("x"), 1), "nothing", id="replace-what-is-not-there"),
    pytest.param("absent", Delete(pod("a"), draft("x"), 0), "nothing", id="delete-what-is-not-there"),
    pytest.param("absent", Delete(pod("a"), draft("x"), 1), "nothing", id="delete-at-a-revision-that-never-was"),
    pytest.param("present", Put(pod("a"), draft("x"), 0), "found", id="create-what-exists"),
    pytest.param("present", Put(pod("a"), draft("x"), 2), None, id="replace-at-the-current-revision"),
    pytest.param("present", Put(pod("a"), draft("x"), 1), "found", id="replace-at-an-older-revision"),
    pytest.param("present", Put(pod("a"), draft("x"), 3), "found", id="replace-at-a-newer-revision"),
    pytest.param("present", Delete(pod("a"), draft("x"), 2), None, id="delete-at-the-current-revision"),
    pytest.param("present", Delete(pod("a"), draft("x"), 1), "found", id="delete-at-an-older-revision"),
    pytest.param("present", Delete(pod("a"), draft("x"), 0), "found", id="delete-expecting-nothing"),
    pytest.param("removed", Put(pod("a"), draft("x"), 0), None, id="create-what-was-deleted"),
    pytest.param("removed", Put(pod("a"), draft("x"), 2), "nothing", id="replace-what-was-deleted"),
    pytest.param("removed", Delete(pod("a"), draft("x"), 3), "nothing", id="delete-twice"),
]


@pytest.mark.parametrize(("before", "change", "refused"), CASES)
async def test_a_change_counts_only_at_the_revision_it_expects(
    store: Store, before: str, change: Change, refused: str | None
) -> None:
    if before != "absent":
        await put(store, pod("a"), "1")
        await put(store, pod("a"), "2")
    if before == "removed":
        await remove(store, pod("a"))
    revision, current = store.revision, store.get(pod("a"))

    if refused is None:
        assert (await store.write(change)).revision == revision + 1
        return
    with pytest.raises(RevisionMismatchError) as error:
        await store.write(change)
    assert error.value.current is current
    assert (current is None) == (refused == "nothing")
    assert (store.revision, store.get(pod("a"))) == (revision, current)


async def test_a_deletion_returns_the_last_state_at_its_own_revision(store: Store) -> None:
    made = await put(store, pod("a"), "1")
    gone = await store.write(Delete(pod("a"), draft("last"), made.revision))

    assert (gone.value, gone.revision, gone.created) == (b"<2:last>", 2, 1)
    assert store.get(pod("a")) is None


async def test_a_write_that_changes_nothing_makes_no_revision_and_no_event(store: Store) -> None:
    made = await put(store, pod("a"), "1")
    subscriber = Subscriber()
    await store.subscribe(PODS, since=store.revision, deliver=subscriber)

    again = await put(store, pod("a"), "1")

    assert again is made
    assert store.revision == 1
    assert subscriber.events == []


async def test_a_write_that_changes_nothing_is_still_refused_at_another_revision(store: Store) -> None:
    made = await put(store, pod("a"), "1")
    await put(store, pod("a"), "2")

    with pytest.raises(RevisionMismatchError):
        await store.write(Put(pod("a"), draft("1"), made.revision))


async def test_of_many_writers_at_one_revision_one_wins(store: Store) -> None:
    made = await put(store, pod("a"), "0")

    async def replace(text: str) -> tuple[str, Record | None]:
        """Who won, and what the loser could read at that moment."""
        try:
            return "won", await store.write(Put(pod("a"), draft(text), made.revision))
        except RevisionMismatchError as error:
            return "lost", store.get(pod("a")) if error.current is store.get(pod("a")) else None

    results = await asyncio.gather(*(replace(str(each)) for each in range(1, 30)))

    winners = [record for result, record in results if result == "won"]
    assert len(winners) == 1
    # Each lost to something that can be read, or its retry would lose again.
    assert [record for _, record in results] == winners * 29
    assert store.revision == made.revision + 1


async def test_writers_that_retry_on_conflict_lose_no_update(store: Store) -> None:
    await store.write(Put(pod("a"), draft("0"), 0))

    async def add_one() -> None:
        while True:
            current = store.get(pod("a"))
            assert current is not None
            total = int(current.value.partition(b":")[2].rstrip(b">")) + 1
            try:
                await store.write(Put(pod("a"), draft(str(total)), current.revision))
            except RevisionMismatchError:
                continue
            return

    await asyncio.gather(*(add_one() for _ in range(20)))

    current = store.get(pod("a"))
    assert current is not None
    assert current.value == b"<21:20>"


async def test_changes_of_one_key_in_one_batch_build_on_each_other(store: Store) -> None:
    results = await asyncio.gather(
        store.write(Put(pod("a"), draft("1"), 0)),
        store.write(Put(pod("a"), draft("2"), 1)),
        store.write(Put(pod("a"), draft("2"), 2)),
        store.write(Delete(pod("a"), draft("3"), 2)),
        store.write(Put(pod("a"), draft("4"), 0)),
        store.write(Put(pod("a"), draft("5"), 3)),
        return_exceptions=True,
    )

    revisions = [each.revision if isinstance(each, Record) else type(each).__name__ for each in results]
    assert revisions == [1, 2, 2, 3, 4, "RevisionMismatchError"]


async def test_reads_show_a_change_only_once_it_is_answered_for(store: Store) -> None:
    waiting = asyncio.ensure_future(put(store, pod("a"), "1"))
    seen = []
    while not waiting.done():
        seen.append(store.get(pod("a")) is not None and store.revision == 0)
        await asyncio.sleep(0)

    assert not any(seen)
    assert store.get(pod("a")) is await waiting


async def test_a_writer_that_gives_up_waiting_disturbs_no_other(store: Store) -> None:
    waiting = [asyncio.ensure_future(put(store, pod(str(each)), "1")) for each in range(10)]
    await asyncio.sleep(0)
    waiting[3].cancel()
    results = await asyncio.gather(*waiting, return_exceptions=True)

    assert sum(isinstance(each, Record) for each in results) == 9
    again = await put(store, pod("after"), "1")
    assert store.get(pod("after")) is again


async def test_closing_completes_what_was_written_and_refuses_more(store_factory: StoreFactory) -> None:
    store = await store_factory.open()
    waiting = [asyncio.ensure_future(put(store, pod(str(each)), "1")) for each in range(50)]
    await asyncio.sleep(0)
    await store.close()

    assert sorted([(await each).revision for each in waiting]) == list(range(1, 51))
    with pytest.raises(StoreError, match="closed"):
        await put(store, pod("late"), "1")


async def test_reaching_a_revision_waits_for_it(store: Store) -> None:
    reached = asyncio.ensure_future(store.reach(2, timeout_s=10))
    await put(store, pod("a"), "1")
    await asyncio.sleep(0)
    assert not reached.done()
    await put(store, pod("a"), "2")
    await reached
    assert await store.sync() == 2


async def test_changes_beside_a_change_are_committed_with_it_or_not_at_all(store: Store) -> None:
    counter = await put(store, pod("counter"), "1")
    subscriber = Subscriber()
    await store.subscribe(PODS, since=store.revision, deliver=subscriber)

    beside = Put(pod("counter"), draft("2"), counter.revision)
    made = await store.write(Put(pod("a"), draft("1"), 0, also=(beside,)))
    with pytest.raises(RevisionMismatchError) as refused:
        await store.write(Put(pod("b"), draft("1"), 0, also=(beside,)))

    assert refused.value.key == pod("counter")
    assert store.get(pod("b")) is None
    assert (made.value, store.get(pod("counter")).value) == (b"<3:1>", b"<2:2>")  # type: ignore[union-attr]
    assert len(subscriber.events) == 2
