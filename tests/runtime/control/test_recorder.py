"""Events on a real plane."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest

from homeostat.client.base import Client, Response, UnreachableError
from homeostat.objects.errors import InternalError
from homeostat.objects.json import JsonObject
from homeostat.plane import Plane, Settings, open_plane
from homeostat.runtime.control.hot_loop_limit import Breaker
from homeostat.runtime.control.recorder import About, Recorder
from tests.runtime.faulty import FaultyTransport, eventually

EVENTS = "/api/v1/namespaces/default/events"
WEB = About("apps/v1", "Deployment", "default", "web", "u-1")
DB = About("apps/v1", "Deployment", "default", "db", "u-2")


class Clock:
    """Of a recorder; it goes on when the test says so."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def time(self) -> float:
        return self.now_s

    def of(self, recorder: Recorder) -> Recorder:
        recorder._loop = cast(asyncio.AbstractEventLoop, self)
        return recorder


@pytest.fixture
def clock() -> Clock:
    return Clock()


class DeadTransport:
    """Nobody listens."""

    async def send(
        self, method: str, path: str, *, query: str = "", body: bytes = b"", content_type: str = "", accept: str = ""
    ) -> Response:
        raise UnreachableError(f"{method} {path} {query} {content_type} {accept} {len(body)}", was_sent=False)

    async def stream(self, path: str, *, query: str = "", accept: str = "") -> Response | AsyncIterator[bytes]:
        raise UnreachableError(f"{path} {query} {accept}", was_sent=False)


@pytest.fixture
async def plane(data: Path) -> AsyncIterator[Plane]:
    async with open_plane(Settings(data=data, port=0, operators=frozenset(), is_open=True)) as plane:
        yield plane


async def events(plane: Plane, path: str = EVENTS) -> list[JsonObject]:
    return (await plane.client.list(path))[0]


async def test_an_event_says_what_happened_to_which_object(plane: Plane) -> None:
    recorder = Recorder(plane.client, "gitops", instance="host-1", suffix=lambda: "abc")
    recorder.record(WEB, "Warning", "CloneFailed", "no password")
    await recorder.flush()
    [event] = await events(plane)
    assert event["metadata"]["name"] == "web.abc"
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web", "uid": "u-1"}
    assert event["involvedObject"] == reference
    told = ("type", "reason", "message", "count", "reportingComponent", "reportingInstance")
    assert [event[each] for each in told] == ["Warning", "CloneFailed", "no password", 1, "gitops", "host-1"]
    assert event["firstTimestamp"] == event["lastTimestamp"]


async def test_what_was_recorded_is_written_while_it_runs(plane: Plane) -> None:
    recorder = Recorder(plane.client, "gitops")
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(recorder.run())
        for reason in ("Started", "Done"):
            recorder.record(WEB, "Normal", reason, "")

            async def is_written(reason: str = reason) -> bool:
                return reason in {each["reason"] for each in await events(plane)}

            await eventually(is_written)
        task.cancel()
    assert recorder.written == 2


@pytest.mark.parametrize("is_flushed_between", [True, False])
async def test_a_repeated_event_is_counted_and_not_written_again(plane: Plane, is_flushed_between: bool) -> None:
    recorder = Recorder(plane.client, "gitops")
    for _ in range(5):
        recorder.record(WEB, "Normal", "Pulled", "main")
        if is_flushed_between:
            await recorder.flush()
    await recorder.flush()
    assert [each["count"] for each in await events(plane)] == [5]
    assert recorder.written == (5 if is_flushed_between else 1)


@pytest.mark.parametrize(
    ("about", "type_", "reason", "message"),
    [
        pytest.param(DB, "Normal", "Pulled", "main", id="object"),
        pytest.param(WEB._replace(uid="u-9"), "Normal", "Pulled", "main", id="object made anew"),
        pytest.param(WEB, "Warning", "Pulled", "main", id="type"),
        pytest.param(WEB, "Normal", "Pushed", "main", id="reason"),
        pytest.param(WEB, "Normal", "Pulled", "dev", id="message"),
    ],
)
async def test_what_differs_is_another_event(plane: Plane, about: About, type_: str, reason: str, message: str) -> None:
    recorder = Recorder(plane.client, "gitops")
    recorder.record(WEB, "Normal", "Pulled", "main")
    recorder.record(about, "Warning" if type_ == "Warning" else "Normal", reason, message)
    await recorder.flush()
    assert [each["count"] for each in await events(plane)] == [1, 1]


async def test_a_repeat_counts_all_that_waited(plane: Plane) -> None:
    recorder = Recorder(plane.client, "gitops")
    for times in (1, 3, 2):
        for _ in range(times):
            recorder.record(WEB, "Normal", "Pulled", "main")
        await recorder.flush()
    assert [each["count"] for each in await events(plane)] == [6]


async def test_an_event_that_repeats_often_stays_one_event(plane: Plane, clock: Clock) -> None:
    recorder = clock.of(Recorder(plane.client, "gitops", same_within_s=50))
    for _ in range(4):
        recorder.record(WEB, "Normal", "Pulled", "main")
        await recorder.flush()
        clock.now_s += 20
    assert [each["count"] for each in await events(plane)] == [4]


async def test_an_event_that_was_last_recorded_long_ago_is_written_again(plane: Plane, clock: Clock) -> None:
    recorder = clock.of(Recorder(plane.client, "gitops", same_within_s=50))
    for _ in range(2):
        recorder.record(WEB, "Normal", "Pulled", "main")
        await recorder.flush()
        clock.now_s += 60
    assert [each["count"] for each in await events(plane)] == [1, 1]


async def test_an_expired_event_is_written_again(plane: Plane) -> None:
    recorder = Recorder(plane.client, "gitops")
    recorder.record(WEB, "Normal", "Pulled", "main")
    await recorder.flush()
    [event] = await events(plane)
    await plane.client.delete(f"{EVENTS}/{event['metadata']['name']}")
    recorder.record(WEB, "Normal", "Pulled", "main")
    await recorder.flush()
    assert [each["count"] for each in await events(plane)] == [1]


async def test_an_object_with_too_many_events_is_rate_limited_and_others_are_not(plane: Plane) -> None:
    recorder = Recorder(plane.client, "gitops", ration=Breaker(burst=3, refill_s=300))
    for turn in range(10):
        recorder.record(WEB, "Normal", "Pulled", f"commit {turn}")
    recorder.record(DB, "Normal", "Pulled", "main")
    await recorder.flush()
    told = sorted(each["involvedObject"]["name"] for each in await events(plane))
    assert (told, recorder.dropped) == (["db", "web", "web", "web"], 7)


async def test_the_next_count_includes_events_that_were_rate_limited(plane: Plane, clock: Clock) -> None:
    recorder = clock.of(Recorder(plane.client, "gitops", ration=Breaker(burst=1, refill_s=20)))
    for _ in range(4):
        recorder.record(WEB, "Normal", "Pulled", "main")
        await recorder.flush()
    clock.now_s += 25
    recorder.record(WEB, "Normal", "Pulled", "main")
    await recorder.flush()
    assert [each["count"] for each in await events(plane)] == [5]
    assert (recorder.written, recorder.dropped) == (2, 0)


async def test_waiting_events_are_bounded_and_one_object_cannot_use_the_place_of_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    recorder = Recorder(Client(DeadTransport()), "gitops", most_waiting_bytes=40_000)
    with caplog.at_level(logging.WARNING):
        for turn in range(100):
            recorder.record(WEB, "Normal", "Pulled", f"commit {turn}")
        assert recorder.dropped == 75
        for turn in range(100):
            recorder.record(WEB._replace(name=f"web-{turn}"), "Normal", "Pulled", "main")
    assert 100 < recorder.dropped < 140
    assert [each.message for each in caplog.records] == ["dropping events: the server accepts them too slowly"]


async def test_no_first_event_is_lost_when_thousands_of_objects_start_at_once(plane: Plane) -> None:
    recorder = Recorder(plane.client, "gitops")
    for number in range(3000):
        recorder.record(WEB._replace(name=f"web-{number}"), "Normal", "Created", "main")
    await recorder.flush()
    assert (recorder.written, recorder.dropped, recorder.failed) == (3000, 0, 0)
    assert len(await events(plane)) == 3000


async def test_recording_never_fails_and_never_waits(caplog: pytest.LogCaptureFixture) -> None:
    recorder = Recorder(Client(DeadTransport()), "gitops")
    with caplog.at_level(logging.WARNING):
        for turn in range(5):
            recorder.record(WEB, "Normal", "Pulled", f"commit {turn}")
        await recorder.flush()
    assert (recorder.failed, recorder.written) == (5, 0)
    assert [each.message for each in caplog.records] == ["failed to record event"]


async def test_a_refusal_costs_one_event_and_not_the_next(plane: Plane) -> None:
    transport = FaultyTransport(plane.client._transport)
    transport.refusals.append(InternalError("the disk is full"))
    recorder = Recorder(Client(transport), "gitops")
    for reason in ("Started", "Done"):
        recorder.record(WEB, "Normal", reason, "")
    await recorder.flush()
    assert [each["reason"] for each in await events(plane)] == ["Done"]
    assert (recorder.failed, recorder.written) == (1, 1)


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        pytest.param("web", "web.", id="plain"),
        pytest.param("system:node", "system-node.", id="colon"),
        pytest.param("Upper_Case", "upper-case.", id="upper case"),
        pytest.param("a..b", "a.b.", id="dots"),
        pytest.param("a.:b", "a.b.", id="dot and colon"),
        pytest.param("a:.b", "a.b.", id="colon and dot"),
        pytest.param(":", "", id="nothing usable"),
        pytest.param("n" * 253, "n" * 200 + ".", id="long"),
    ],
)
async def test_any_name_makes_the_name_of_an_event(plane: Plane, name: str, stem: str) -> None:
    numbers = itertools.count()
    recorder = Recorder(plane.client, "gitops", suffix=lambda: f"x{next(numbers)}")
    recorder.record(About("v1", "Node", "", name), "Normal", "Ready", "m" * 2000)
    await recorder.flush()
    [event] = await events(plane)
    assert event["metadata"]["name"] == f"{stem}x0"
    assert len(event["message"]) == 1024
