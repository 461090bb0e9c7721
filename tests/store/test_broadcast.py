"""Who gets a change when: followers at its commit, and very many readers over many turns of the event loop."""

from __future__ import annotations

import asyncio

import pytest

from homeostat.store import broadcast as module
from homeostat.store.base import Event, Put, Scope
from homeostat.store.broadcast import Broadcast, Listener
from homeostat.store.log import events_of, plan
from tests.store.contract import PODS, PieceReader, Subscriber, draft, pod

_READERS = 40


def commit(number: int, *, namespace: str = "default", size: int = 1) -> list[Event]:
    batch = [Put(pod(f"p{number}-{each}", namespace), draft("1"), 0) for each in range(size)]
    return events_of(plan(batch, number, lambda _: None))


def read(broadcast: Broadcast, scope: Scope = PODS) -> tuple[PieceReader, Listener]:
    reader = PieceReader()
    return reader, broadcast.add(scope, reader.deliver, reader)


async def caught_up(broadcast: Broadcast) -> None:
    for _ in range(1000):
        if not broadcast.is_behind(PODS):
            return
        await asyncio.sleep(0)
    raise AssertionError("readers are behind for ever")


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five deliveries fill a turn."""
    monkeypatch.setattr(module, "_AT_ONCE", 5)
    monkeypatch.setattr(module, "TURN_S", 0.0)


async def test_few_readers_get_a_change_at_its_commit() -> None:
    broadcast = Broadcast()
    reader, listener = read(broadcast)
    broadcast.publish(commit(0, size=2))
    assert (reader.pieces, listener.is_behind) == ([[1, 2]], False)


@pytest.mark.usefixtures("slow")
async def test_many_readers_get_changes_in_order_over_many_turns() -> None:
    broadcast, follower = Broadcast(), Subscriber()
    readers = [read(broadcast) for _ in range(_READERS)]
    broadcast.add(PODS, follower)
    events = commit(0, size=3)
    events[0].frames = {"view": b"encoded"}
    broadcast.publish(events)
    broadcast.publish(commit(3))
    assert follower.revisions == [1, 2, 3, 4]
    late, _ = read(broadcast)
    turns = 0
    while readers[-1][1].is_behind:
        got = sum(len(each.revisions) for each, _ in readers)
        assert events[0].frames is None or got < 3 * _READERS, "its encodings are kept as long as they are needed"
        turns += 1
        await asyncio.sleep(0)
        assert sum(len(each.revisions) for each, _ in readers) - got <= 5 + 3
    assert turns > 4 * _READERS / (5 + 3) - 2
    assert {tuple(map(tuple, each.pieces)) for each, _ in readers} == {((1, 2, 3), (4,))}
    assert late.revisions == []
    assert [each.frames for each in events] == [None] * 3


@pytest.mark.usefixtures("slow")
async def test_the_readers_of_one_scope_do_not_delay_those_of_another() -> None:
    broadcast = Broadcast()
    crowd = [read(broadcast, Scope("pods", "crowded")) for _ in range(_READERS)]
    other, _ = read(broadcast, Scope("pods", "other"))
    for number in range(20):
        broadcast.publish(commit(number, namespace="crowded"))
    broadcast.publish(commit(20, namespace="other"))
    for _ in range(3):
        await asyncio.sleep(0)
    assert other.revisions == [21]
    assert crowd[-1][1].is_behind


@pytest.mark.usefixtures("slow")
async def test_readers_for_whom_too_much_waits_are_closed_and_get_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_EVENTS", 10)
    broadcast = Broadcast()
    readers = [read(broadcast) for _ in range(_READERS)]
    for number in range(12):
        broadcast.publish(commit(number))
    await caught_up(broadcast)
    cut_off = [each for each, listener in readers if not listener.is_open]
    assert all(each.is_closed for each in cut_off)
    assert len(cut_off) > _READERS / 2
    for each, _ in readers:
        assert each.revisions == list(range(1, len(each.revisions) + 1))
    assert broadcast.count == _READERS - len(cut_off)


@pytest.mark.usefixtures("slow")
async def test_a_reader_that_leaves_while_it_is_behind_gets_nothing_more() -> None:
    broadcast = Broadcast()
    readers = [read(broadcast) for _ in range(_READERS)]
    broadcast.publish(commit(0))
    readers[-1][1].close()
    await caught_up(broadcast)
    assert [len(each.revisions) for each, _ in readers] == [1] * (_READERS - 1) + [0]
