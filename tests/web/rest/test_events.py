"""Server-sent events over real HTTP: what is told, to whom, and from where on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from homeostat.client.base import Client
from homeostat.edge.limits import Limits
from homeostat.edge.request import Request
from homeostat.edge.server import serve
from homeostat.operators import actions
from homeostat.testing.eventually import eventually
from homeostat.testing.plane import open_test_plane
from homeostat.web.rest.app import refuse, rest_app
from homeostat.web.rest.events import Events, open_events
from homeostat.web.rest.gate import Caller, Gate, OpenGate, Operation, SystemPermission
from homeostat.web.rest.refusal import unauthorized
from homeostat.web.rest.serving import LIMITS, open_face
from tests.web.rest.calling import NOTE_TYPE, Api, note
from tests.web.rest.listening import Listener, Told, listening
from tests.web.rest.shelf import World
from tests.web.rest.test_served import CREATE_RESOURCE, CREATE_TYPE, up

PAGE_TYPE = {**NOTE_TYPE, "name": "Page"}


class Reader:
    """May read some types."""

    id, is_admin, username = 7, False, "reader"

    def __init__(self, types: set[str]) -> None:
        self._types = types

    async def may(self, type_name: str, type_version: str, operation: Operation) -> bool:
        return type_name in self._types and operation == "READ"

    async def has(self, permission: SystemPermission) -> bool:
        return False


class ReaderGate:
    """Lets in everybody as an administrator, but a reader as such, as long as it is let in at all."""

    def __init__(self) -> None:
        self.types = {"Note"}
        self.is_shut = False
        self._open = OpenGate()

    async def identify(self, request: Request) -> Caller:
        if "reader" not in request.headers:
            return await self._open.identify(request)
        if self.is_shut:
            raise unauthorized()
        return Reader(set(self.types))


@asynccontextmanager
async def replica(
    client: Client, *, gate: Gate | None = None, limits: Limits = LIMITS, keep_alive_s: float = 15.0
) -> AsyncIterator[tuple[Api, Events]]:
    async with (
        open_face(client, namespace="default", environment={}, gate=gate or OpenGate()) as face,
        open_events(face, keep_alive_s=keep_alive_s) as events,
        aiohttp.ClientSession() as session,
    ):
        server = await serve(rest_app(face, more=[events.add_routes]), limits=limits, refuse=refuse)
        yield Api(session, f"http://127.0.0.1:{server.port}"), events
        await server.stop()


@pytest.fixture
async def served(client: Client) -> AsyncIterator[Api]:
    async with replica(client) as (api, _):
        await api.made("/resource-types", NOTE_TYPE)
        yield api


def is_quiet(resource: Any) -> bool:
    """Nothing more is written about it by itself."""
    conditions = {each["type"]: each["status"] for each in resource["conditions"]}
    return resource["status"] in ("ready", "failed") and conditions.get("Ready") in ("True", "False")


def is_settled(told: Told) -> bool:
    return is_quiet(told.data["resource_data"])


async def settled(listener: Listener, name: str) -> list[Told]:
    return await listener.until(lambda told: told.name == name and is_settled(told))


def bodies(told: list[Told], name: str) -> list[Any]:
    return [each.data for each in told if each.name == name]


async def test_a_resource_is_told_of_from_its_making_to_its_end(served: Api) -> None:
    async with listening(served.url) as listener:
        made = await served.made("/resources", note("one"))
        first, *rest = await settled(listener, "one")
        assert first.short == ("CREATED", "one")
        assert [each.type for each in rest].count("RECONCILED") == 1
        assert rest[-1].data["resource_data"]["status"] == "ready"
        await served.put(f"/resources/{made['id']}", {"spec": {"text": "other"}})
        *_, changed = await listener.until(lambda told: told.data["resource_data"]["spec"]["text"] == "other")
        assert changed.type == "MODIFIED"
        await settled(listener, "one")
        await served.delete(f"/resources/{made['id']}")
        *_, gone = await listener.until(lambda told: told.type == "DELETED")
        assert (gone.data["resource_id"], gone.data["resource_data"]["name"]) == (made["id"], "one")


async def test_a_frame_is_event_data_id_and_a_blank_line(served: Api) -> None:
    async with listening(served.url) as listener:
        await served.made("/resources", note("one"))
        told = await listener.next()
        event, data, number, blank = listener.raw
        assert (event, blank) == ("event: CREATED\n", "\n")
        assert data.startswith('data: {"event_type":"CREATED"')
        assert number == f"id: {told.id}\n"
        assert list(told.data) == [
            "event_type",
            "resource_id",
            "resource_name",
            "resource_type_name",
            "resource_type_version",
            "resource_data",
            "timestamp",
        ]
        assert told.data["timestamp"].endswith("Z")
        headers = listener.response.headers
        assert headers["Content-Type"].startswith("text/event-stream")
        assert (headers["Cache-Control"], headers["X-Accel-Buffering"]) == ("no-cache", "no")


async def test_a_failed_run_is_a_run_that_has_ended(served: Api, shelf: World) -> None:
    shelf.trouble = "no room"
    async with listening(served.url) as listener:
        await served.made("/resources", note("one"))
        told = await settled(listener, "one")
        assert told[-1].data["resource_data"]["status"] == "failed"


async def test_events_are_of_one_type_or_of_one_resource_if_asked_for(served: Api) -> None:
    await served.made("/resource-types", PAGE_TYPE)
    number = (await served.made("/resources", note("one")))["id"]
    await served.becomes(number, "ready")
    async with (
        listening(served.url, "/events?resource_type=Page") as pages,
        listening(served.url, f"/resources/{number}/events") as one,
    ):
        await served.made("/resources", note("two"))
        await served.made("/resources", note("three", resource_type_name="Page"))
        await served.post(f"/resources/{number}/reconcile")
        assert {each.name for each in await settled(pages, "three")} == {"three"}
        assert {each.name for each in await settled(one, "one")} == {"one"}
        assert one.last_id.isdecimal()
        assert pages.last_id.isdecimal()


async def test_the_stream_of_a_resource_ends_with_it(served: Api) -> None:
    number = (await served.made("/resources", note("one")))["id"]
    async with listening(served.url, f"/resources/{number}/events") as one:
        await served.delete(f"/resources/{number}")
        *_, gone = await one.until(lambda told: told.type == "DELETED")
        with pytest.raises(EOFError):
            await one.next()
    async with listening(served.url, f"/resources/{number}/events", last=str(int(gone.id) - 1)) as late:
        assert (await late.next()).type == "DELETED"
    assert (await served.get(f"/resources/{number}/events")).status == 404


async def test_who_comes_back_is_told_what_it_has_missed_and_nothing_twice(served: Api) -> None:
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
            # Told later, and from the history, it is the same to the letter.
            assert bodies(missed, name) == bodies(everything[len(before) :], name)


@pytest.mark.parametrize("stop_at", [1, 2, 3, 5, 8])
async def test_a_reader_may_break_off_anywhere(served: Api, stop_at: int) -> None:
    await served.made("/resource-types", PAGE_TYPE)
    types = ("Note", "Page")
    async with listening(served.url) as whole, AsyncExitStack() as stack:
        broken = await stack.enter_async_context(listening(served.url))
        for count in range(6):
            await served.made("/resources", note(f"n{count}", resource_type_name=types[count % 2]))
        everything: list[Told] = []
        while len({each.name for each in everything if is_settled(each)}) < 6:
            everything.append(await whole.next())
        seen = [await broken.next() for _ in range(stop_at)]
        await stack.aclose()
        async with listening(served.url, f"/events?last_event_id={seen[-1].id}") as back:
            seen += [await back.next() for _ in range(len(everything) - stop_at)]
            assert await back.silent_for(0.1)
        for count in range(6):
            assert bodies(seen, f"n{count}") == bodies(everything, f"n{count}")


async def test_a_reader_that_comes_and_goes_while_much_is_written_hears_it_all_once(
    served: Api, client: Client
) -> None:
    await served.made("/resource-types", PAGE_TYPE)
    names = [f"n{count}" for count in range(30)]
    async with replica(client) as (other, _), listening(served.url) as whole, asyncio.TaskGroup() as tasks:

        async def write() -> None:
            for count, name in enumerate(names):
                await served.made("/resources", note(name, resource_type_name=("Note", "Page")[count % 2]))

        async def hear() -> list[Told]:
            told: list[Told] = []
            while len({each.name for each in told if is_settled(each)}) < len(names):
                told.append(await whole.next())
            return told

        async def come_and_go() -> list[Told]:
            told: list[Told] = []
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


async def test_another_server_goes_on_where_one_has_ended(served: Api, client: Client) -> None:
    async with listening(served.url) as listener:
        await served.made("/resources", note("one"))
        last = (await settled(listener, "one"))[-1].id
    await served.made("/resources", note("two"))
    async with replica(client) as (other, _), listening(other.url, last=last) as back:
        told = await settled(back, "two")
        assert (told[0].short, {each.name for each in told}) == (("CREATED", "two"), {"two"})
        await served.made("/resources", note("three"))
        assert (await back.next()).short == ("CREATED", "three")


async def test_a_plane_that_was_started_anew_goes_on_where_it_was(tmp_path: Path) -> None:
    with up(tmp_path / "plane", "--open", "--rest-port", "0") as first:
        first.run(CREATE_TYPE)
        async with listening(first.url) as listener:
            number = first.run(CREATE_RESOURCE)["id"]
            last = await listener.next()
            assert last.short == ("CREATED", "production-pg")
    with up(tmp_path / "plane", "--open", "--rest-port", "0") as second:
        async with listening(second.url, last=last.id) as back:
            told = await settled(back, "production-pg")
            assert "RECONCILED" in {each.type for each in told}
            assert not {"CREATED", "RESYNC"} & {each.type for each in told}
            second.run(f"curl -X POST http://localhost:8000/api/v1/resources/{number}/reconcile")
            await settled(back, "production-pg")


async def test_what_another_server_or_kubectl_writes_is_told(served: Api, client: Client) -> None:
    async with replica(client) as (other, _), listening(other.url) as listener:
        await served.made("/resources", note("one"))
        assert (await listener.next()).short == ("CREATED", "one")
        await client.create(
            "/apis/resources.homeostat.dev/v1/namespaces/default/notes",
            {
                "apiVersion": "resources.homeostat.dev/v1",
                "kind": "Note",
                "metadata": {"name": "two"},
                "spec": {"text": "x"},
                "action": {"plugin": "shelf"},
            },
        )
        told = await settled(listener, "two")
        assert next(each.type for each in told if each.name == "two") == "CREATED"
        assert all(each.data["resource_id"] for each in told)


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
async def test_where_history_does_not_reach_the_state_is_told_after_one_resync(served: Api, last: str) -> None:
    for name in ("one", "two"):
        path = f"/resources/{(await served.made('/resources', note(name)))['id']}"
        await eventually(partial(served.get, path), lambda answer: is_quiet(answer.body))
    async with listening(served.url, last=last) as listener:
        told = [await listener.next() for _ in range(3)]
        assert [each.type for each in told] == ["RESYNC", "MODIFIED", "MODIFIED"]
        assert [each.name for each in told[1:]] == ["one", "two"]
        assert await listener.silent_for(0.1)
        position = told[-1].id
        # Who leaves before the end of it begins anew.
        assert {each.id for each in told[:-1]} == {"0"}
    await served.made("/resources", note("three"))
    async with listening(served.url, last=position) as back:
        assert (await back.next()).short == ("CREATED", "three")


async def test_readers_are_told_of_types_they_may_read_and_of_no_configuration(client: Client) -> None:
    gate = ReaderGate()
    async with replica(client, gate=gate) as (api, _):
        await api.made("/resource-types", NOTE_TYPE)
        await api.made("/resource-types", PAGE_TYPE)
        async with listening(api.url, reader="yes") as reader, listening(api.url) as admin:
            await api.made("/resources", note("hidden", resource_type_name="Page"))
            await api.made("/resources", note("one", plugin_config={"token": "hush"}))
            seen = await settled(reader, "one")
            assert {each.name for each in seen} == {"one"}
            assert "hush" not in "".join(reader.raw)
            assert "plugin_config" not in seen[0].data["resource_data"]
            told = await settled(admin, "one")
            assert told[-1].data["resource_data"]["plugin_config"] == {"token": "hush"}
        answer = await api.get("/resources/1/events", reader="yes")
        assert answer.status == 403


async def test_rights_are_asked_again_with_each_keep_alive(client: Client) -> None:
    gate = ReaderGate()
    async with replica(client, gate=gate, keep_alive_s=0.05) as (api, _):
        await api.made("/resource-types", NOTE_TYPE)
        async with listening(api.url, reader="yes") as reader:
            assert await reader.silent_for(0.2)
            assert ": keep-alive" in reader.comments
            gate.is_shut = True
            with pytest.raises(EOFError):
                await reader.next()


async def test_a_reader_that_takes_nothing_is_cut_off(client: Client) -> None:
    limits = Limits(stream_bytes=1 << 16)
    async with replica(client, limits=limits) as (api, events):
        await api.made("/resource-types", NOTE_TYPE)
        _reader, writer = await asyncio.open_connection(*api.url.removeprefix("http://").split(":"), limit=1024)
        writer.write(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await eventually(lambda: events.count == 1)
        number = (await api.made("/resources", note("one")))["id"]
        for count in range(40):
            await api.put(f"/resources/{number}", {"spec": {"text": f"{count}" * 200_000}})
            if not events.count:
                break
        await eventually(lambda: events.count == 0)
        writer.close()


async def test_readers_are_let_go_when_the_server_ends(client: Client) -> None:
    async with AsyncExitStack() as stack:
        async with replica(client) as (api, events):
            listener = await stack.enter_async_context(listening(api.url))
            assert events.count == 1
        with pytest.raises(EOFError):
            await listener.next()
