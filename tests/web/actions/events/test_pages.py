"""Server-sent events over real HTTP: what is told, to whom, and from where on."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from homeostat.client.base import Client
from homeostat.edge.limits import Limits
from homeostat.testing.eventually import eventually
from tests.web.actions.calling import NOTE_TYPE, Api, note
from tests.web.actions.listening import listening
from tests.web.actions.replicas import PAGE_TYPE, ReaderGate, replica, settled
from tests.web.actions.shelf import World


async def test_a_resource_is_reported_from_its_creation_to_its_end(served: Api) -> None:
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


async def test_what_another_server_or_kubectl_writes_is_delivered(served: Api, client: Client) -> None:
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


async def test_readers_see_the_types_they_may_read_and_no_configuration(client: Client) -> None:
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


async def test_permissions_are_asked_again_with_each_keep_alive(client: Client) -> None:
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


async def test_streams_end_when_the_server_stops(client: Client) -> None:
    async with AsyncExitStack() as stack:
        async with replica(client) as (api, events):
            listener = await stack.enter_async_context(listening(api.url))
            assert events.count == 1
        with pytest.raises(EOFError):
            await listener.next()
