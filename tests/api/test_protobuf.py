"""Answers in protobuf, for clients that accept nothing else.

`tests/differential` compares them with those of a real server.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest

from homeostat.client.in_process import LocalStream
from homeostat.edge.reply import StreamReply
from homeostat.objects.wire import encode, protobuf
from homeostat.objects.wire.leaves import members
from homeostat.server.access.user import SELF
from homeostat.server.verbs import backlog
from homeostat.server.verbs.frame_queue import FrameQueue
from homeostat.server.view import protobuf_view
from tests.api.conftest import Api, noting_threads
from tests.api.objects import CONFIGMAPS, CRDS, WIDGETS, configmap, definition, widget

PROTOBUF = "application/vnd.kubernetes.protobuf"
ALONE = {"accept": PROTOBUF}
PARTIAL = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIAL_LIST = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
STREAM = "application/vnd.kubernetes.protobuf;stream=watch"

Events = AsyncGenerator[tuple[str, Any]]


async def watched(api: Api, path: str, accept: str = PROTOBUF, **query: Any) -> Events:
    answer = await api._ask("GET", path, None, headers={"accept": accept}, user=SELF, query={"watch": "true", **query})
    assert isinstance(answer, StreamReply)
    assert answer.content_type == STREAM
    stream = LocalStream()
    answer.start(stream)
    return events_in(stream)


async def events_in(stream: LocalStream) -> Events:
    received = b""
    async with aclosing(stream.chunks()) as chunks:
        async for chunk in chunks:
            received += chunk
            while len(received) >= 4 and len(received) >= (end := 4 + int.from_bytes(received[:4], "big")):
                event = members(received, 4, end)
                yield event[1].decode(), protobuf.decode(members(event[2], 0, len(event[2]))[1])
                received = received[end:]


async def next_of(events: Events) -> tuple[str, Any]:
    return await asyncio.wait_for(anext(events), 30)


async def live_watch(api: Api, **query: Any) -> Events:
    """A watch that has sent its initial events."""
    await api("POST", CONFIGMAPS, configmap("first", metadata={"labels": {"seen": "yes"}}))
    events = await watched(api, CONFIGMAPS, **query)
    while (await next_of(events))[1]["metadata"]["name"] != "first":
        pass
    return events


@pytest.mark.parametrize(
    "accept", [f"{PROTOBUF},application/json", f"application/json,{PROTOBUF}", f"{PROTOBUF};q=0.9,*/*;q=0.1"]
)
async def test_a_client_that_accepts_json_too_gets_json(api: Api, accept: str) -> None:
    for path in (CONFIGMAPS, "/api/v1/namespaces/default", "/apis", f"{CONFIGMAPS}/none"):
        assert (await api("GET", path, headers={"accept": accept})).content_type == "application/json"


async def test_what_prefers_protobuf_sees_no_types_in_lists_of_metadata(api: Api) -> None:
    """As Go's client for metadata decodes them from protobuf: the type of an object equals that of an item."""
    await api("POST", CONFIGMAPS, configmap("a"))
    as_list = f"{PROTOBUF}{PARTIAL_LIST},application/json{PARTIAL_LIST},application/json"
    preferred = (await api("GET", CONFIGMAPS, headers={"accept": as_list})).json
    assert preferred["kind"] == "PartialObjectMetadataList"
    assert [set(each) for each in preferred["items"]] == [{"metadata"}]
    as_one = f"{PROTOBUF}{PARTIAL},application/json{PARTIAL},application/json"
    one = (await api("GET", f"{CONFIGMAPS}/a", headers={"accept": as_one})).json
    assert (one["kind"], one["metadata"]) == ("PartialObjectMetadata", preferred["items"][0]["metadata"])


async def test_an_object_is_what_json_has(api: Api) -> None:
    created = await api("POST", CONFIGMAPS, configmap("a", binaryData={"b": "AAE="}), headers=ALONE)
    assert (created.status, created.content_type) == (201, PROTOBUF)
    assert protobuf.decode(created.body) == (await api("GET", f"{CONFIGMAPS}/a")).json
    assert (await api("GET", f"{CONFIGMAPS}/a", headers=ALONE, pretty="true")).body == created.body


async def test_a_large_object_is_encoded_in_a_thread(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    finalizers = [f"example.com/{number}" for number in range(2_000)]
    await api("POST", CONFIGMAPS, configmap("a", metadata={"finalizers": finalizers}))
    threads = noting_threads(monkeypatch, encode, "encode")
    answer = await api("GET", f"{CONFIGMAPS}/a", headers=ALONE)
    assert protobuf.decode(answer.body)["metadata"]["finalizers"] == finalizers
    assert threads == {False}


async def test_an_error_is_in_protobuf(api: Api) -> None:
    missing = await api("GET", f"{CONFIGMAPS}/none", headers=ALONE)
    status = protobuf.decode(missing.body)
    assert (missing.status, missing.content_type, status["kind"]) == (404, PROTOBUF, "Status")
    assert status["details"] == {"name": "none", "kind": "configmaps"}
    unknown = await api("GET", "/apis/none.example.com/v1/things", headers=ALONE)
    assert (unknown.status, protobuf.decode(unknown.body)["reason"]) == (404, "NotFound")


async def test_a_custom_object_has_no_protobuf_but_its_metadata_have(api: Api) -> None:
    await api("POST", CRDS, definition())
    refused = await api("POST", WIDGETS, widget(), headers=ALONE)
    assert (refused.status, protobuf.decode(refused.body)["reason"]) == (406, "NotAcceptable")
    assert (await api("GET", f"{WIDGETS}/w")).status == 404
    created = (await api("POST", WIDGETS, widget())).json
    shown = await api("GET", f"{WIDGETS}/w", headers={"accept": PROTOBUF + PARTIAL})
    assert protobuf.decode(shown.body) == {
        "apiVersion": "meta.k8s.io/v1",
        "kind": "PartialObjectMetadata",
        "metadata": created["metadata"],
    }
    events = await watched(api, WIDGETS, PROTOBUF + PARTIAL)
    change, first = await next_of(events)
    assert (change, first["metadata"]) == ("ADDED", created["metadata"])


async def test_a_watch_has_changes_and_bookmarks(api: Api) -> None:
    await api("POST", CONFIGMAPS, configmap("a"))
    events = await watched(
        api, CONFIGMAPS, sendInitialEvents="true", resourceVersionMatch="NotOlderThan", allowWatchBookmarks="true"
    )
    assert [(await next_of(events))[0] for _ in range(2)] == ["ADDED", "BOOKMARK"]
    await api("PUT", f"{CONFIGMAPS}/a", configmap("a", data={"x": "2"}))
    change, shown = await next_of(events)
    assert (change, shown["kind"], shown["data"]) == ("MODIFIED", "ConfigMap", {"x": "2"})
    await api("DELETE", f"{CONFIGMAPS}/a")
    assert (await next_of(events))[0] == "DELETED"


async def test_events_that_are_much_to_encode_come_in_order_from_a_thread(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = await live_watch(api, labelSelector="seen")
    threads = noting_threads(monkeypatch, protobuf_view, "sealed")
    names = [f"c{number:02}" for number in range(40)]
    large = {"text": "x" * (protobuf_view.QUICK_BYTES // 10)}
    bodies = [configmap(name, metadata={"labels": {"seen": "yes"}}, data=large) for name in names]
    await asyncio.gather(*(api("POST", CONFIGMAPS, body) for body in bodies))
    await api("PATCH", f"{CONFIGMAPS}/c00", {"metadata": {"labels": None}}, type="application/merge-patch+json")
    seen = [await next_of(events) for _ in range(41)]
    revisions = [int(shown["metadata"]["resourceVersion"]) for _, shown in seen]
    assert revisions == sorted(revisions)
    assert sorted(shown["metadata"]["name"] for _, shown in seen[:40]) == names
    assert (seen[40][0], seen[40][1]["metadata"]["name"]) == ("DELETED", "c00")
    assert False in threads


async def test_a_crowd_of_watches_sends_such_events_in_turns(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """600 of them had a change of 60 KB to send at the same moment, and held the event loop for 0.4 s."""
    loop, sent, most, total = asyncio.get_running_loop(), 0, 0, 0
    send = LocalStream.send

    def noted(stream: LocalStream, chunk: bytes) -> None:
        nonlocal sent
        sent += 1
        send(stream, chunk)

    def tick() -> None:
        nonlocal sent, most, total
        most, total, sent = max(most, sent), total + sent, 0
        if total < len(watches):
            loop.call_soon(tick)

    watches = [await live_watch(api) for _ in range(20)]
    monkeypatch.setattr(LocalStream, "send", noted)
    monkeypatch.setattr("homeostat.edge.turn.TURN_S", 0.0)
    # All are ready before the first one sends.
    monkeypatch.setattr(FrameQueue, "_prepare", lambda self, events: asyncio.sleep(0.05, self._make(events)))
    tick()
    await api("POST", CONFIGMAPS, configmap("a", data={"text": "x" * 2 * protobuf_view.QUICK_BYTES}))
    for events in watches:
        assert (await next_of(events))[0] == "ADDED"
    assert most <= 2


@pytest.mark.parametrize(("limit", "most"), [("MOST_EVENTS", 3), ("MOST_BYTES", 3 * protobuf_view.QUICK_BYTES)])
async def test_a_watch_that_waits_for_too_many_frames_ends(
    api: Api, monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    monkeypatch.setattr(backlog, limit, most)
    events = await live_watch(api)
    large = {"text": "x" * protobuf_view.QUICK_BYTES}
    await asyncio.gather(*(api("POST", CONFIGMAPS, configmap(f"c{each}", data=large)) for each in range(20)))
    assert len([each async for each in events]) < 20


async def test_an_object_that_cannot_be_encoded_ends_the_watch_with_an_error(
    api: Api, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    events = await live_watch(api)

    def fail(*_: Any) -> bytes:
        raise ValueError("no form")

    monkeypatch.setattr(protobuf_view.ProtobufView, "item", fail)
    await api("POST", CONFIGMAPS, configmap("a", data={"text": "x" * 2 * protobuf_view.QUICK_BYTES}))
    change, status = await next_of(events)
    assert (change, status["reason"]) == ("ERROR", "InternalError")
    assert [each async for each in events] == []
    assert "failed to send events" in caplog.text


async def test_discovery_is_in_protobuf(api: Api) -> None:
    for path in ("/api", "/apis", "/apis/apps", "/apis/apps/v1", "/api/v1"):
        plain, answer = await api("GET", path), await api("GET", path, headers=ALONE)
        assert (answer.status, answer.content_type) == (200, PROTOBUF)
        assert answer.body == encode.encode(plain.json)
        assert answer.headers["etag"] != plain.headers["etag"]
    suffix = ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    whole = await api("GET", "/apis", headers={"accept": PROTOBUF + suffix})
    assert whole.content_type == PROTOBUF + suffix
    assert protobuf.decode(whole.body)["items"][0]["metadata"]["name"] == "apiregistration.k8s.io"
