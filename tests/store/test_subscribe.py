"""Contract: a watch is the log after a revision, in order, without a gap or a repeat."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from homeostat.store.base import CompactedError, Event, FutureRevisionError, Key, Put, Scope, Store, Subscription
from tests.store.contract import PODS, PieceReader, StoreFactory, Subscriber, draft, pod, put, remove


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        pytest.param(Scope("pods"), [1, 2, 3, 4, 5], id="resource"),
        pytest.param(Scope("pods", "one"), [1, 2, 5], id="namespace"),
        pytest.param(Scope("pods", "one", "a"), [1, 5], id="name"),
        pytest.param(Scope("nodes"), [6], id="cluster-scope"),
        pytest.param(Scope("nodes", "", "a"), [6], id="name-in-cluster-scope"),
        pytest.param(Scope("pods", "on"), [], id="namespace-that-begins-another"),
        pytest.param(Scope("deployments.apps"), [], id="another-resource"),
    ],
)
@pytest.mark.parametrize("when", ["live", "replayed", "replayed-from-disk"])
async def test_a_subscriber_gets_events_of_its_scope_only(
    store_factory: StoreFactory, scope: Scope, expected: list[int], when: str
) -> None:
    store = await store_factory.open(history_events=0 if when == "replayed-from-disk" else 100)
    subscriber = Subscriber()
    if when == "live":
        await store.subscribe(scope, since=0, deliver=subscriber)
    await put(store, pod("a", "one"), "1")
    await put(store, pod("b", "one"), "1")
    await put(store, pod("a", "two"), "1")
    await put(store, pod("a", "two"), "2")
    await remove(store, pod("a", "one"))
    await put(store, Key("nodes", "", "a"), "1")
    if when != "live":
        await store.subscribe(scope, since=0, deliver=subscriber)

    assert subscriber.revisions == expected
    await store.close()


@pytest.mark.parametrize("history_events", [100, 0], ids=["memory", "disk"])
async def test_events_carry_what_was_before(store_factory: StoreFactory, history_events: int) -> None:
    store = await store_factory.open(history_events=history_events)
    live, replayed = Subscriber(), Subscriber()
    await store.subscribe(PODS, since=0, deliver=live)
    await put(store, pod("a"), "1")
    await put(store, pod("a"), "2")
    await remove(store, pod("a"))
    await put(store, pod("a"), "3")
    await store.subscribe(PODS, since=0, deliver=replayed)

    for subscriber in (live, replayed):
        assert subscriber.summary == [(1, "ADDED", "a"), (2, "MODIFIED", "a"), (3, "DELETED", "a"), (4, "ADDED", "a")]
        before = [event.previous and event.previous.value for event in subscriber.events]
        assert before == [None, b"<1:1>", b"<2:2>", None]
        assert [event.record.value for event in subscriber.events] == [b"<1:1>", b"<2:2>", b"<3:gone>", b"<4:3>"]
        assert [event.record.created for event in subscriber.events] == [1, 1, 1, 4]
        assert [event.previous and event.previous.revision for event in subscriber.events] == [None, 1, 2, None]
    await store.close()


async def test_a_deletion_is_delivered_at_its_own_revision(store: Store) -> None:
    made = await put(store, pod("a"), "1")
    subscriber = Subscriber()
    await store.subscribe(PODS, since=made.revision, deliver=subscriber)
    gone = await remove(store, pod("a"))

    assert subscriber.summary == [(gone.revision, "DELETED", "a")]
    assert gone.revision > made.revision


async def test_subscribers_share_one_event(store: Store) -> None:
    one, two = Subscriber(), Subscriber()
    await store.subscribe(PODS, since=0, deliver=one)
    await store.subscribe(Scope("pods", "default"), since=0, deliver=two)
    await put(store, pod("a"), "1")

    assert one.events[0] is two.events[0]


async def test_the_tag_of_a_write_reaches_subscribers_and_is_not_stored(store_factory: StoreFactory) -> None:
    store = await store_factory.open(history_events=0)
    live, later = Subscriber(), Subscriber()
    await store.subscribe(PODS, since=0, deliver=live)
    made = await put(store, pod("a"), "1")
    await store.write(Put(pod("a"), draft("2"), made.revision, tag="half"))
    await store.subscribe(PODS, since=0, deliver=later)

    assert [event.tag for event in live.events] == ["", "half"]
    assert [event.tag for event in later.events] == ["", ""]
    await store.close()


async def test_the_change_is_readable_when_its_subscribers_are_called(store: Store) -> None:
    seen: list[tuple[int, int]] = []

    def look(event: Event) -> None:
        current = store.get(event.record.key)
        assert current is not None
        seen.append((store.revision, current.revision))

    await store.subscribe(PODS, since=0, deliver=look)
    await put(store, pod("a"), "1")
    await put(store, pod("a"), "2")

    assert seen == [(1, 1), (2, 2)]


@pytest.mark.parametrize("history_events", [1000, 17, 0], ids=["memory", "partly-disk", "disk"])
async def test_a_second_watch_from_any_event_replays_the_same_order(
    store_factory: StoreFactory, history_events: int
) -> None:
    store = await store_factory.open(history_events=history_events)
    first = Subscriber()
    await store.subscribe(PODS, since=0, deliver=first)
    for step in range(60):
        key = pod(str(step * 5 % 13))
        await (remove(store, key) if step % 4 == 3 and store.get(key) else put(store, key, str(step)))

    for position, event in enumerate(first.events):
        again = Subscriber()
        await store.subscribe(PODS, since=event.record.revision, deliver=again)
        assert again.summary == first.summary[position + 1 :]
    await store.close()


@pytest.mark.parametrize("history_events", [2000, 300, 10], ids=["memory", "partly-disk", "disk"])
async def test_a_subscriber_that_replays_while_others_write_misses_and_repeats_nothing(
    store_factory: StoreFactory, history_events: int
) -> None:
    store = await store_factory.open(history_events=history_events)
    for start in range(0, 900, 100):
        await asyncio.gather(*(put(store, pod(str(start + each)), "1") for each in range(100)))
    subscriber = Subscriber()

    async def write() -> None:
        for step in range(60):
            await put(store, pod("busy"), str(step))

    writing = asyncio.ensure_future(write())
    await store.subscribe(PODS, since=10, deliver=subscriber)
    await writing

    assert subscriber.revisions == list(range(11, 961))
    await store.close()


async def test_a_closed_subscription_gets_no_more_events(store: Store) -> None:
    subscriber = Subscriber()
    subscription = await store.subscribe(PODS, since=0, deliver=subscriber)
    await put(store, pod("a"), "1")
    subscription.close()
    subscription.close()
    await put(store, pod("a"), "2")

    assert subscriber.revisions == [1]


@pytest.mark.parametrize(
    ("targets", "expected"),
    [
        pytest.param("b", ["a", "b", "c", "a", "c"], id="itself"),
        pytest.param("c", ["a", "b", "a", "b"], id="the-next"),
        pytest.param("a", ["a", "b", "c", "b", "c"], id="the-one-before"),
        pytest.param("abc", ["a", "b"], id="all"),
    ],
)
async def test_a_subscriber_may_close_itself_and_others_while_being_called(
    store: Store, targets: str, expected: list[str]
) -> None:
    heard: list[str] = []
    subscriptions: dict[str, Subscription] = {}

    def hear(who: str, _: Event) -> None:
        heard.append(who)
        if who == "b":
            for target in targets:
                subscriptions[target].close()

    for who in "abc":
        subscriptions[who] = await store.subscribe(PODS, since=0, deliver=partial(hear, who))
    await put(store, pod("x"), "1")
    await put(store, pod("x"), "2")

    assert heard == expected


async def test_a_watch_from_the_future_or_the_forgotten_past_is_refused(store: Store) -> None:
    for step in range(10):
        await put(store, pod("a"), str(step))
    subscriber = Subscriber()
    with pytest.raises(FutureRevisionError):
        await store.subscribe(PODS, since=11, deliver=subscriber)
    await store.compact(5)
    with pytest.raises(CompactedError):
        await store.subscribe(PODS, since=4, deliver=subscriber)
    assert subscriber.events == []
    await store.subscribe(PODS, since=5, deliver=subscriber)

    assert subscriber.revisions == [6, 7, 8, 9, 10]


async def test_a_watch_survives_a_restart_by_its_revision(store_factory: StoreFactory) -> None:
    store = await store_factory.open()
    await put(store, pod("a"), "1")
    seen = store.revision
    await put(store, pod("a"), "2")
    await remove(store, pod("a"))
    await store.close()
    store = await store_factory.open()
    subscriber = Subscriber()
    await store.subscribe(PODS, since=seen, deliver=subscriber)
    await put(store, pod("b"), "1")

    assert subscriber.summary == [(2, "MODIFIED", "a"), (3, "DELETED", "a"), (4, "ADDED", "b")]
    await store.close()


@pytest.mark.parametrize("when", ["live", "replayed"])
async def test_a_reader_may_pass_on_what_one_commit_changed_in_one_piece(
    store_factory: StoreFactory, when: str
) -> None:
    store = await store_factory.open()
    reader = PieceReader()

    async def follow() -> None:
        await store.subscribe(PODS, since=0, deliver=reader.deliver, reader=reader)

    if when == "live":
        await follow()
    async with asyncio.TaskGroup() as tasks:
        for name in "abc":
            tasks.create_task(put(store, pod(name), "1"))
    if when == "replayed":
        await follow()

    assert reader.pieces == [[1, 2, 3]]
    await store.close()


async def test_a_reader_that_fails_to_pass_on_is_closed_and_costs_the_others_nothing(
    store_factory: StoreFactory,
) -> None:
    store = await store_factory.open()
    failed, subscriber = PieceReader(fails=True), Subscriber()
    await store.subscribe(PODS, since=0, deliver=failed.deliver, reader=failed)
    await store.subscribe(PODS, since=0, deliver=subscriber)
    await put(store, pod("a"), "1")
    await put(store, pod("b"), "1")

    assert (failed.revisions, subscriber.revisions) == ([1], [1, 2])
    await store.close()
