"""What needs all resources, or a large one, leaves turns of the event loop to others. Turns are counted, not timed."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from homeostat.client.in_process import LocalStream
from homeostat.edge import turn
from homeostat.edge.request import Headers, Peer, Request
from homeostat.testing.eventually import eventually
from homeostat.web.actions.bodies import spec_hash
from homeostat.web.actions.dashboard.phase_counts import PhaseCounts
from homeostat.web.actions.events import follower, frame
from homeostat.web.actions.events.feed import Feed
from homeostat.web.actions.events.follower import Follower, Wanted
from homeostat.web.actions.events.frame import EventFrame
from homeostat.web.actions.events.position import Position
from homeostat.web.actions.face import Face
from homeostat.web.kit import walks
from homeostat.web.kit.gate import Administrator
from tests.web.actions.calling import Api, note

_RESOURCES = 20


class PromptStream(LocalStream):
    """Its reader has always caught up, so nobody waits for it."""

    __slots__ = ("in_turn", "most_in_turn", "sent")

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[bytes] = []
        self.in_turn = self.most_in_turn = 0

    def send(self, chunk: bytes) -> None:
        self.sent.append(chunk)
        self.in_turn += 1
        self.most_in_turn = max(self.most_in_turn, self.in_turn)

    async def drain(self) -> None:
        pass

    async def count_turns(self) -> None:
        while True:
            self.in_turn = 0
            await asyncio.sleep(0)


@asynccontextmanager
async def following(
    face: Face, since: Position | None = None, stream: PromptStream | None = None
) -> AsyncIterator[PromptStream]:
    stream, request = stream or PromptStream(), Request("GET", "/api/v1/events", "", Headers(), b"", Peer(""), {})
    caller, feed = Administrator("anonymous"), Feed(face.index)
    following = Follower(face, feed, Wanted(), request=request, caller=caller, claims={}, since=since)
    following.begin(stream)
    tasks = [asyncio.create_task(following.run()), asyncio.create_task(stream.count_turns())]
    try:
        yield stream
    finally:
        feed.end()
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def test_all_resources_are_counted_and_sent_again_in_slices(
    notes: Api, face: Face, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(_RESOURCES):
        await notes.made("/resources", note(f"n{number}"))
    monkeypatch.setattr(walks, "SLICE_S", 0.0)
    monkeypatch.setattr(walks, "_AT_ONCE", 5)
    counts, turns = PhaseCounts(face.index, face.walks), 0
    counting = [asyncio.create_task(counts.complete()) for _ in range(2)]
    while not all(task.done() for task in counting):
        turns += 1
        await asyncio.sleep(0)
    await counts.complete()
    assert sum(each.total() for each in counts.of_types().values()) == _RESOURCES
    assert turns > _RESOURCES / 5

    async with following(face, Position(0)) as stream:
        await eventually(lambda: len(stream.sent), lambda count: count >= _RESOURCES + 2)
    names = [f'"resource_name":"n{number}"'.encode() for number in range(_RESOURCES)]
    assert b"RESYNC" in stream.sent[1]
    assert all(name in sent for name, sent in zip(names, stream.sent[2:], strict=False))
    assert stream.most_in_turn <= 2 * 5


async def test_an_event_of_a_large_resource_is_encoded_in_a_thread(
    notes: Api, face: Face, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoders = []

    def noted(spec: bytes) -> str:
        encoders.append((len(spec) > frame.LARGE_BYTES, threading.current_thread() is threading.main_thread()))
        return spec_hash(spec)

    monkeypatch.setattr(frame, "spec_hash", noted)
    async with following(face) as stream:
        await notes.made("/resources", note("large", spec={"text": "a", "tags": ["x"] * 5000}))
        await eventually(lambda: len(stream.sent), lambda count: count >= 2)
        await notes.made("/resources", note("small"))
        await eventually(lambda: b"".join(stream.sent), lambda sent: b'"resource_name":"small"' in sent)
    assert set(encoders) == {(True, False), (False, True)}


async def test_a_crowd_of_followers_shares_turns_and_bytes(
    notes: Api, face: Face, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All wake up at a change: with a turn for each, 600 readers held the event loop for half a second."""
    monkeypatch.setattr(turn, "TURN_S", 0.0)
    streams, at_once, most = [PromptStream() for _ in range(20)], 0, 0
    feed, caller = Feed(face.index), Administrator("anonymous")
    request = Request("GET", "/api/v1/events", "", Headers(), b"", Peer(""), {})
    followers = [Follower(face, feed, Wanted(), request=request, caller=caller, claims={}, since=None) for _ in streams]
    for each, stream in zip(followers, streams, strict=True):
        each.begin(stream)
    tasks = [asyncio.create_task(each.run()) for each in followers]
    await notes.made("/resources", note("one"))
    while not all(len(each.sent) > 1 for each in streams):
        before = sum(len(each.sent) for each in streams)
        await asyncio.sleep(0)
        at_once = sum(len(each.sent) for each in streams) - before
        most = max(most, at_once)
    feed.end()
    for task in tasks:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    assert most <= 4, "the events of one change, for a follower or two"
    assert len({id(each.sent[1]) for each in streams}) == 1


class StalledStream(PromptStream):
    """Its reader reads nothing."""

    async def drain(self) -> None:
        await asyncio.Event().wait()


async def test_a_reader_that_has_to_start_again_and_does_not_read_keeps_no_events(
    notes: Api, face: Face, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 20,000 resources they took 5 MB for each of up to 1,000 readers."""
    for number in range(_RESOURCES):
        await notes.made("/resources", note(f"n{number}"))
    made = list[weakref.ref[EventFrame]]()

    class Noted(EventFrame):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            made.append(weakref.ref(self))

    monkeypatch.setattr(follower, "EventFrame", Noted)
    monkeypatch.setattr(follower, "_AT_ONCE", 1)
    monkeypatch.setattr(walks, "_AT_ONCE", 2)
    monkeypatch.setattr(walks, "SLICE_S", 0.0)
    async with following(face, Position(0), StalledStream()) as stream:
        await eventually(lambda: len(stream.sent), lambda count: count >= 3)
        assert len(made) >= _RESOURCES
        assert sum(each() is not None for each in made) <= 2 * 2
