"""Readers of events that come back: no event is lost and none is sent twice."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import pytest

from homeostat.client.base import Client
from homeostat.operators import actions
from homeostat.testing.eventually import eventually
from homeostat.testing.plane import open_test_plane
from tests.web.actions.calling import NOTE_TYPE, Api, note
from tests.web.actions.delayed_server import LateTransport, Pace
from tests.web.actions.listening import Delivered, listening
from tests.web.actions.replicas import PAGE_TYPE, bodies, is_quiet, is_settled, replica, settled
from tests.web.actions.shelf import World
from tests.web.actions.test_served import CREATE_RESOURCE, CREATE_TYPE, up


async def test_a_returning_reader_gets_missed_events_once(served: Api) -> None:
    await served.made("/resource-types", PAGE_TYPE)
    async with listening(served.url) as whole:
        async with listening(served.url) as listener:
            await served.made("/resources", note("one"))
            before = await settled(listener, "one")
        await served.made("/resources", note("two"))
        await served.made("/resources", note("three", resource_type_name="Page"))
        await served.put("/resources/1", {"spec": {"text": "other"}})
        everything = [await whole.next() for _ in before]
        while {"one", "two", "three"} - {each.name for each in everything[len(before) :] if is_settled(each)}:
            everything.append(await whole.next())
        async with listening(served.url, last=before[-1].id) as back:
            missed = [await back.next() for _ in everything[len(before) :]]
            assert await back.silent_for(0.1)
            await served.made("/resources", note("four"))
            assert (await back.next()).short == ("CREATED", "four")
        for name in ("one", "two", "three"):
            # Delivered later, and from the history, it is the same to the letter.
            assert bodies(missed, name) == bodies(everything[len(before) :], name)


@pytest.mark.parametrize("stop_at", [1, 3, 8])
async def test_a_reader_may_break_off_anywhere(served: Api, stop_at: int) -> None:
    await served.made("/resource-types", PAGE_TYPE)
    types = ("Note", "Page")
    async with listening(served.url) as whole, AsyncExitStack() as stack:
        broken = await stack.enter_async_context(listening(served.url))
        for count in range(6):
            await served.made("/resources", note(f"n{count}", resource_type_name=types[count % 2]))
        everything: list[Delivered] = []
        while len({each.name for each in everything if is_settled(each)}) < 6:
            everything.append(await whole.next())
        seen = [await broken.next() for _ in range(stop_at)]
        await stack.aclose()
        async with listening(served.url, f"/events?last_event_id={seen[-1].id}") as back:
            seen += [await back.next() for _ in range(len(everything) - stop_at)]
            assert await back.silent_for(0.1)
        for count in range(6):
            assert bodies(seen, f"n{count}") == bodies(everything, f"n{count}")


async def test_a_reconnecting_reader_gets_each_of_many_events_once(served: Api, client: Client) -> None:
    await served.made("/resource-types", PAGE_TYPE)
    names = [f"n{count}" for count in range(30)]
    async with replica(client) as (other, _), listening(served.url) as whole, asyncio.TaskGroup() as tasks:

        async def write() -> None:
            for count, name in enumerate(names):
                await served.made("/resources", note(name, resource_type_name=("Note", "Page")[count % 2]))

        async def hear() -> list[Delivered]:
            told: list[Delivered] = []
            while len({each.name for each in told if is_settled(each)}) < len(names):
                told.append(await whole.next())
            return told

        async def come_and_go() -> list[Delivered]:
            told: list[Delivered] = []
            for count in range(1000):
                at, last = (served, other)[count % 2], told[-1].id if told else "1"
                async with listening(at.url, last=last) as listener:
                    told += [await listener.next() for _ in range(1 + count % 4)]
                if len({each.name for each in told if is_settled(each)}) == len(names):
                    break
            return told

        tasks.create_task(write())
        heard, gathered = tasks.create_task(hear()), tasks.create_task(come_and_go())
        everything, some = await heard, await gathered
    for name in names:
        assert bodies(some, name) == bodies(everything, name)


async def test_another_server_continues_where_one_has_ended(served: Api, client: Client) -> None:
    async with listening(served.url) as listener:
        await served.made("/resources", note("one"))
        last = (await settled(listener, "one"))[-1].id
    await served.made("/resources", note("two"))
    async with replica(client) as (other, _), listening(other.url, last=last) as back:
        told = await settled(back, "two")
        assert (told[0].short, {each.name for each in told}) == (("CREATED", "two"), {"two"})
        await served.made("/resources", note("three"))
        assert (await back.next()).short == ("CREATED", "three")


async def test_an_event_of_history_and_of_the_stream_is_sent_once(served: Api, client: Client) -> None:
    async with listening(served.url) as whole:
        await served.made("/resources", note("one"))
        last = (await settled(whole, "one"))[-1].id
        # The other one begins later than what was told, and at no change of a note.
        await served.made("/resource-types", PAGE_TYPE)
        async with replica(client) as (other, _), listening(other.url, last=last) as back:
            await served.made("/resources", note("two"))
            told, expected = await settled(back, "two"), await settled(whole, "two")
            assert bodies(told, "two") == bodies(expected, "two")
            assert await back.silent_for(0.1)


async def test_a_server_with_stale_state_repeats_no_event(served: Api, client: Client) -> None:
    pace = Pace()
    async with (
        replica(client.over(lambda transport: LateTransport(transport, pace))) as (other, _),
        listening(served.url) as whole,
    ):
        pace.hold()
        await served.made("/resources", note("one"))
        last = (await settled(whole, "one"))[-1].id
        async with listening(other.url, last=last) as back:
            await served.made("/resources", note("two"))
            expected = await settled(whole, "two")
            pace.go()
            told = await settled(back, "two")
            assert (bodies(told, "one"), bodies(told, "two")) == ([], bodies(expected, "two"))
            assert await back.silent_for(0.1)


async def test_a_plane_that_was_restarted_continues_where_it_was(tmp_path: Path) -> None:
    with up(tmp_path / "plane", "--open", "--faces-port", "0") as first:
        first.run(CREATE_TYPE)
        async with listening(first.url) as listener:
            number = first.run(CREATE_RESOURCE)["id"]
            last = await listener.next()
            assert last.short == ("CREATED", "production-pg")
    with up(tmp_path / "plane", "--open", "--faces-port", "0") as second:
        async with listening(second.url, last=last.id) as back:
            told = await settled(back, "production-pg")
            assert "RECONCILED" in {each.type for each in told}
            assert not {"CREATED", "RESYNC"} & {each.type for each in told}
            second.run(f"curl -X POST http://localhost:8000/api/v1/resources/{number}/reconcile")
            await settled(back, "production-pg")


async def test_history_that_was_compacted_is_a_resync(tmp_path: Path, shelf: World) -> None:
    async with (
        open_test_plane(tmp_path / "plane", actions, has_housekeeping=True, has_guards=True) as plane,
        replica(plane.client) as (api, _),
    ):
        await api.made("/resource-types", NOTE_TYPE)
        async with listening(api.url) as listener:
            await api.made("/resources", note("one"))
            last = (await listener.next()).id
            await settled(listener, "one")
        await plane.store.compact(plane.store.revision)
        async with listening(api.url, last=last) as back:
            assert [(await back.next()).type for _ in range(2)] == ["RESYNC", "MODIFIED"]


@pytest.mark.parametrize("last", ["0", "what", "99999999", "1.Gone-5"])
async def test_beyond_history_the_state_is_sent_after_one_resync(served: Api, last: str) -> None:
    for name in ("one", "two"):
        path = f"/resources/{(await served.made('/resources', note(name)))['id']}"
        await eventually(partial(served.get, path), lambda answer: is_quiet(answer.body))
    async with listening(served.url, last=last) as listener:
        told = [await listener.next() for _ in range(3)]
        assert [each.type for each in told] == ["RESYNC", "MODIFIED", "MODIFIED"]
        assert [each.name for each in told[1:]] == ["one", "two"]
        assert await listener.silent_for(0.1)
        position = told[-1].id
        # Who leaves before its end starts again.
        assert {each.id for each in told[:-1]} == {"0"}
    await served.made("/resources", note("three"))
    async with listening(served.url, last=position) as back:
        assert (await back.next()).short == ("CREATED", "three")


@pytest.mark.parametrize("path", ["/events", "/events?resource_type=Note"])
async def test_a_type_that_went_meanwhile_is_a_resync(served: Api, path: str) -> None:
    await served.made("/resource-types", PAGE_TYPE)
    async with listening(served.url, path) as listener:
        number = (await served.made("/resources", note("one")))["id"]
        last = (await settled(listener, "one"))[-1].id
    await served.delete(f"/resources/{number}")
    await served.is_gone(number)
    assert (await served.delete("/resource-types/1")).status == 204
    async with listening(served.url, path, last=last) as back:
        assert (await back.next()).type == "RESYNC"
        assert await back.silent_for(0.1)
