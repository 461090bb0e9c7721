"""Listing and watching objects."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Awaitable
from datetime import UTC, datetime, timedelta
from threading import get_ident
from typing import Any

import pytest

from homeostat.client.in_process import LocalStream
from homeostat.edge.reply import StreamReply
from homeostat.edge.request import Headers, Peer, Request
from homeostat.server.access.user import SELF
from homeostat.server.view.encode import Note, note_of
from homeostat.server.view.table import Columns
from homeostat.store.base import Record
from tests.api.conftest import MERGE_PATCH, Api, noting_threads
from tests.api.objects import CONFIGMAPS, CRDS, DEPLOYMENTS, WIDGETS, configmap, definition, deployment, widget

WATCHED = CONFIGMAPS.replace("/v1/", "/v1/watch/")
TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}


async def make(api: Api, *names: str, **labels: str) -> None:
    for name in names:
        answer = await api("POST", CONFIGMAPS, configmap(name, metadata={"labels": labels}))
        assert answer.status == 201


def names_of(listed: Any) -> list[str]:
    return [item["metadata"]["name"] for item in listed["items"]]


async def test_a_list_has_a_kind_and_the_revision_of_its_state(api: Api) -> None:
    await make(api, "b", "a")
    listed = (await api("GET", CONFIGMAPS)).json
    assert (listed["kind"], listed["apiVersion"]) == ("ConfigMapList", "v1")
    assert listed["metadata"] == {"resourceVersion": str(api.plane.store.revision)}
    assert names_of(listed) == sorted(names_of(listed))
    assert {"a", "b"} <= set(names_of(listed))


async def test_pages_are_of_one_snapshot(api: Api) -> None:
    await make(api, *"abcde", app="x")
    await make(api, "zz")
    first = (await api("GET", CONFIGMAPS, limit=2)).json
    await api("DELETE", f"{CONFIGMAPS}/c")
    await make(api, "d2")
    second = (await api("GET", CONFIGMAPS, limit=100, **{"continue": first["metadata"]["continue"]})).json
    assert first["metadata"]["remainingItemCount"] >= 4
    assert names_of(first) == ["a", "b"]
    assert {"c", "d", "e"} <= set(names_of(second))
    assert "d2" not in names_of(second)
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    assert "continue" not in second["metadata"]


async def test_a_page_of_large_objects_has_fewer_of_them_and_the_next_one_continues(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("homeostat.server.verbs.list.LARGEST_PAGE_BYTES", 25_000)
    for name in "abcde":
        await api("POST", CONFIGMAPS, configmap(name, data={"large": "x" * 10_000}))
    first = (await api("GET", CONFIGMAPS, limit=500)).json
    second = (await api("GET", CONFIGMAPS, limit=500, **{"continue": first["metadata"]["continue"]})).json
    whole = (await api("GET", CONFIGMAPS)).json
    cached = (await api("GET", CONFIGMAPS, limit=500, resourceVersion="0")).json
    assert (names_of(first), names_of(second)) == (["a", "b"], ["c", "d"])
    assert (names_of(whole)[:5], names_of(cached)[:5]) == (list("abcde"), list("abcde"))


async def test_an_object_larger_than_a_page_is_a_page(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("homeostat.server.verbs.list.LARGEST_PAGE_BYTES", 10)
    await make(api, *"abc")
    names: list[str] = []
    token: Any = ""
    while True:
        page = (await api("GET", CONFIGMAPS, limit=2, **{"continue": token})).json
        names.append(*names_of(page))
        token = page["metadata"].get("continue", "")
        if not token:
            break
    assert names[:3] == ["a", "b", "c"]


async def test_pages_of_a_selection_are_full(api: Api) -> None:
    for name in "abcdef":
        await make(api, name, half="odd" if name in "ace" else "even")
    page = (await api("GET", CONFIGMAPS, limit=2, labelSelector="half=odd")).json
    assert names_of(page) == ["a", "c"]
    assert "remainingItemCount" not in page["metadata"]
    rest = (
        await api("GET", CONFIGMAPS, limit=2, labelSelector="half=odd", **{"continue": page["metadata"]["continue"]})
    ).json
    assert names_of(rest) == ["e"]


async def test_an_expired_page_offers_to_continue_inconsistently(api: Api) -> None:
    await make(api, *"abcd", app="x")
    token = (await api("GET", CONFIGMAPS, limit=2)).json["metadata"]["continue"]
    await make(api, "e")
    await api.plane.store.compact(api.plane.store.revision)
    expired = await api("GET", CONFIGMAPS, limit=2, **{"continue": token})
    assert (expired.status, expired.reason) == (410, "Expired")
    rest = await api("GET", CONFIGMAPS, limit=100, **{"continue": expired.json["metadata"]["continue"]})
    assert {"c", "d", "e"} <= set(names_of(rest.json))
    assert "a" not in names_of(rest.json)


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"continue": "bogus"}, 400),
        ({"limit": ""}, 400),
        ({"limit": "-1"}, 200),
        ({"limit": "x"}, 400),
        ({"resourceVersion": "abc"}, 400),
        ({"resourceVersion": "99999"}, 504),
        ({"resourceVersionMatch": "Exact"}, 422),
        ({"resourceVersionMatch": "Exact", "resourceVersion": "0"}, 422),
        ({"resourceVersionMatch": "Newest", "resourceVersion": "1"}, 422),
        ({"labelSelector": "a in"}, 400),
        ({"fieldSelector": "spec.nothing=1"}, 400),
        ({"sendInitialEvents": "true"}, 422),
        ({"watch": "true", "sendInitialEvents": "true"}, 422),
        ({"dryRun": "Some"}, 200),
    ],
)
async def test_a_bad_list_option_gets_its_code(api: Api, query: dict[str, Any], status: int, monkeypatch: Any) -> None:
    monkeypatch.setattr("homeostat.server.view.versions.FRESHNESS_WAIT_S", 0.05)
    assert (await api("GET", CONFIGMAPS, **query)).status == status


async def test_an_exact_list_shows_the_past(api: Api) -> None:
    await make(api, "a")
    revision = api.plane.store.revision
    await make(api, "b")
    listed = (await api("GET", CONFIGMAPS, resourceVersion=revision, resourceVersionMatch="Exact")).json
    assert "b" not in names_of(listed)
    assert listed["metadata"]["resourceVersion"] == str(revision)


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("app=x", ["a"]),
        ("app!=x,app", ["b"]),
        ("app in (x,y)", ["a", "b"]),
        ("!app,plain", ["c"]),
        ("app notin (x),app", ["b"]),
    ],
)
async def test_labels_select(api: Api, selector: str, expected: list[str]) -> None:
    await make(api, "a", app="x")
    await make(api, "b", app="y")
    await make(api, "c", plain="")
    assert names_of((await api("GET", CONFIGMAPS, labelSelector=selector)).json) == expected


async def test_names_and_declared_fields_select(api: Api) -> None:
    await api("POST", CRDS, definition(selectableFields=[{"jsonPath": ".spec.color"}]))
    await api("POST", WIDGETS, widget("r", {"size": 1}))
    await api("POST", WIDGETS, widget("g", {"size": 1, "color": "green"}))
    assert names_of((await api("GET", WIDGETS, fieldSelector="metadata.name=r")).json) == ["r"]
    assert names_of((await api("GET", WIDGETS, fieldSelector="metadata.name!=r")).json) == ["g"]
    assert names_of((await api("GET", WIDGETS, fieldSelector="spec.color=green")).json) == ["g"]
    everywhere = "/apis/example.com/v1/widgets"
    assert names_of(
        (await api("GET", everywhere, fieldSelector="metadata.namespace=default,metadata.name=g")).json
    ) == ["g"]
    assert names_of((await api("GET", everywhere, fieldSelector="metadata.namespace=other")).json) == []


async def test_a_table_has_the_columns_of_kubectl(api: Api) -> None:
    await api("POST", DEPLOYMENTS, deployment())
    table = (await api("GET", DEPLOYMENTS, headers=TABLE)).json
    assert table["kind"] == "Table"
    shown = [each["name"] for each in table["columnDefinitions"] if each["priority"] == 0]
    assert shown == ["Name", "Ready", "Up-to-date", "Available", "Age"]
    (row,) = table["rows"]
    assert row["cells"][:4] == ["web", "0/1", 0, 0]
    assert row["object"]["kind"] == "PartialObjectMetadata"
    assert row["object"]["metadata"]["name"] == "web"
    one = (await api("GET", f"{DEPLOYMENTS}/web", headers=TABLE)).json
    assert one["rows"][0]["cells"][:2] == ["web", "0/1"]


async def test_a_custom_table_has_its_printer_columns(api: Api) -> None:
    columns = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
    ]
    await api("POST", CRDS, definition(additionalPrinterColumns=columns))
    await api("POST", WIDGETS, widget())
    table = (await api("GET", WIDGETS, headers=TABLE)).json
    assert [each["name"] for each in table["columnDefinitions"]] == ["Name", "Size", "Phase"]
    assert table["rows"][0]["cells"] == ["w", 1, None]


async def test_items_of_built_in_kinds_lack_the_names_of_their_type(api: Api) -> None:
    await make(api, "a", "b", to="list")
    one = (await api("GET", f"{CONFIGMAPS}/a")).json
    for _ in range(2):
        items = (await api("GET", CONFIGMAPS, labelSelector="to=list")).json["items"]
        assert {"apiVersion": "v1", "kind": "ConfigMap", **items[0]} == one
        assert all(each.keys() == {"metadata", "data"} for each in items)
    dropped = (await api("DELETE", CONFIGMAPS, labelSelector="to=list")).json
    assert dropped["items"] == items
    await api("POST", CRDS, definition())
    await api("POST", WIDGETS, widget())
    assert (await api("GET", WIDGETS)).json["items"] == [(await api("GET", f"{WIDGETS}/w")).json]
    assert (await api("DELETE", WIDGETS)).json["items"][0]["kind"] == "Widget"


async def test_items_that_are_stored_at_another_version_are_shown_as_others(api: Api) -> None:
    core, other = "/api/v1/namespaces/default/events", "/apis/events.k8s.io/v1/namespaces/default/events"
    made = {
        "metadata": {"name": "e", "namespace": "default"},
        "involvedObject": {"namespace": "default"},
        "reason": "x",
    }
    assert (await api("POST", core, made)).status == 201
    (item,) = (await api("GET", other)).json["items"]
    assert {"apiVersion": "events.k8s.io/v1", "kind": "Event", **item} == (await api("GET", f"{other}/e")).json
    claim = {
        "metadata": {"name": "h"},
        "spec": {"maxReplicas": 2, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "w"}},
    }
    scalers = "/apis/autoscaling/{}/namespaces/default/horizontalpodautoscalers"
    assert (await api("POST", scalers.format("v2"), claim)).status == 201
    for version in ("v1", "v2"):
        path = scalers.format(version)
        (item,) = (await api("GET", path)).json["items"]
        named = {"apiVersion": f"autoscaling/{version}", "kind": "HorizontalPodAutoscaler", **item}
        assert "kind" not in item
        assert named == (await api("GET", f"{path}/h")).json


async def test_a_list_of_any_version_has_no_pages(api: Api) -> None:
    await make(api, "a", "b", "c")
    whole = (await api("GET", CONFIGMAPS)).json
    assert (await api("GET", CONFIGMAPS, limit=1, resourceVersion="0")).json == whole
    token = (await api("GET", CONFIGMAPS, limit=1)).json["metadata"]["continue"]
    second = (await api("GET", CONFIGMAPS, limit=1, resourceVersion="0", **{"continue": token})).json
    assert names_of(second) == names_of(whole)[1:2]


async def test_no_metadata_are_null_and_a_collection_is_deleted_in_the_form_that_is_requested(api: Api) -> None:
    accept = {"accept": "application/json;g=meta.k8s.io;v=v1;as=PartialObjectMetadataList"}
    for method in ("GET", "DELETE"):
        answer = await api(method, CONFIGMAPS, headers=accept, labelSelector="none")
        assert (answer.json["kind"], answer.json["items"]) == ("PartialObjectMetadataList", None)
    await make(api, "a", to="drop")
    tried = (await api("DELETE", CONFIGMAPS, headers=TABLE, labelSelector="to=drop", dryRun="All")).json
    assert (tried["kind"], tried["rows"][0]["cells"][0]) == ("Table", "a")
    dropped = (await api("DELETE", CONFIGMAPS, headers=accept, labelSelector="to=drop")).json
    assert [each["kind"] for each in dropped["items"]] == ["PartialObjectMetadata"]


async def test_metadata_alone_is_served(api: Api) -> None:
    await make(api, "a")
    accept = {"accept": "application/json;g=meta.k8s.io;v=v1;as=PartialObjectMetadataList"}
    listed = (await api("GET", CONFIGMAPS, headers=accept, fieldSelector="metadata.name=a")).json
    assert (listed["kind"], listed["items"][0]["kind"]) == ("PartialObjectMetadataList", "PartialObjectMetadata")
    assert "data" not in listed["items"][0]
    one = (
        await api(
            "GET", f"{CONFIGMAPS}/a", headers={"accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}
        )
    ).json
    assert set(one) == {"kind", "apiVersion", "metadata"}


async def test_the_metadata_of_one_object_are_not_those_of_a_list(api: Api) -> None:
    await make(api, "a")
    many, one = (f"application/json;g=meta.k8s.io;v=v1;as=PartialObjectMetadata{end}" for end in ("List", ""))
    for method, path, accept in (
        ("GET", CONFIGMAPS, one),
        ("GET", f"{CONFIGMAPS}/a", many),
        ("DELETE", CONFIGMAPS, one),
    ):
        refused = await api(method, path, headers={"accept": f"{accept},application/json"})
        assert (refused.status, "you requested PartialObjectMetadata" in refused.json["message"]) == (406, True)
    assert (await api("GET", f"{CONFIGMAPS}/a")).status == 200


async def test_what_is_not_served_is_not_acceptable(api: Api) -> None:
    for accept in (
        "application/cbor",
        "application/json;as=Table;v=v9;g=meta.k8s.io",
        "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io",
    ):
        assert (await api("GET", CONFIGMAPS, headers={"accept": accept})).status == 406


async def test_yaml_goes_in_and_out(api: Api) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: doc\ndata:\n  mode: '0755'\n"
    created = await api("POST", CONFIGMAPS, body, type="application/yaml", headers={"accept": "application/yaml"})
    assert (created.status, created.content_type) == (201, "application/yaml")
    assert b"mode: '0755'" in created.body or b'mode: "0755"' in created.body
    listed = await api("GET", CONFIGMAPS, headers={"accept": "application/yaml"})
    assert listed.body.startswith(b"kind: ConfigMapList") or b"kind: ConfigMapList" in listed.body


async def test_a_large_list_is_compressed_where_asked(api: Api) -> None:
    for name in "abc":
        await api("POST", CONFIGMAPS, {**configmap(name), "data": {"x": "y" * 60_000}})
    answer = await api("GET", CONFIGMAPS, headers={"accept-encoding": "gzip, deflate"})
    assert answer.headers["content-encoding"] == ["gzip"]
    assert b'"ConfigMapList"' in zlib.decompress(answer.body, 31)


async def test_a_watch_follows_from_a_revision(api: Api) -> None:
    await make(api, "a")
    watch = await api.watch(CONFIGMAPS, resourceVersion=api.plane.store.revision)
    await make(api, "b")
    await api("PATCH", f"{CONFIGMAPS}/b", {"data": {"x": "2"}}, type=MERGE_PATCH)
    deleted = await api("DELETE", f"{CONFIGMAPS}/b")
    assert deleted.status == 200
    events = [await watch.next() for _ in range(3)]
    assert [(kind, obj["metadata"]["name"]) for kind, obj in events] == [
        ("ADDED", "b"),
        ("MODIFIED", "b"),
        ("DELETED", "b"),
    ]
    versions = [int(obj["metadata"]["resourceVersion"]) for _, obj in events]
    assert versions == sorted(set(versions))
    assert versions[-1] == api.plane.store.revision


@pytest.mark.parametrize("path", ["/api/v1/watch/configmaps", WATCHED, f"{WATCHED}/a"])
async def test_the_old_paths_of_watches_are_watches_whatever_the_parameter_says(api: Api, path: str) -> None:
    since = api.plane.store.revision
    watch = await api.watch(path, resourceVersion=since, watch="false")
    await make(api, "a")
    assert [(kind, obj["metadata"]["name"]) for kind, obj in [await watch.next()]] == [("ADDED", "a")]
    watch.close()
    assert (await api("POST", path, configmap("b"))).status == 405
    assert (await api("GET", path, resourceVersionMatch="Exact")).status == 422


async def test_a_watch_may_leave_out_what_only_the_status_subresource_changed(api: Api) -> None:
    await api("POST", CRDS, definition())
    await api("POST", WIDGETS, widget())
    since = api.plane.store.revision
    few = await api.watch(WIDGETS, resourceVersion=since, homeostatSkipStatus="true")
    all_of_them = await api.watch(WIDGETS, resourceVersion=since)
    await api("PATCH", f"{WIDGETS}/w/status", {"status": {"phase": "Up"}}, type=MERGE_PATCH)
    await api("PATCH", f"{WIDGETS}/w", {"spec": {"size": 2}}, type=MERGE_PATCH)
    await api("PATCH", f"{WIDGETS}/w/status", {"status": {"phase": "Down"}}, type=MERGE_PATCH)
    await api("DELETE", f"{WIDGETS}/w")

    seen = [await few.next() for _ in range(2)]
    assert [kind for kind, _ in seen] == ["MODIFIED", "DELETED"]
    assert seen[0][1]["status"] == {"phase": "Up"}
    assert [(await all_of_them.next())[0] for _ in range(4)] == ["MODIFIED", "MODIFIED", "MODIFIED", "DELETED"]
    assert await few.is_silent()


async def test_a_watch_from_anywhere_begins_with_what_is_there(api: Api) -> None:
    await make(api, "a", app="x")
    for version in ("", "0"):
        watch = await api.watch(CONFIGMAPS, resourceVersion=version, labelSelector="app")
        assert [(await watch.next())[0]] == ["ADDED"]
        assert await watch.is_silent()
        watch.close()


async def test_initial_events_end_with_a_bookmark(api: Api) -> None:
    await make(api, "a", app="x")
    query: Any = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    watch = await api.watch(CONFIGMAPS, labelSelector="app", **query)
    kind, obj = await watch.next()
    assert (kind, obj["metadata"]["name"]) == ("ADDED", "a")
    kind, mark = await watch.next()
    assert kind == "BOOKMARK"
    assert mark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert mark["metadata"]["resourceVersion"] == str(api.plane.store.revision)
    assert (mark["kind"], mark["apiVersion"]) == ("ConfigMap", "v1")


async def test_a_watch_without_initial_events_still_begins_at_its_revision(api: Api) -> None:
    await make(api, "a")
    since = api.plane.store.revision
    await make(api, "b")
    query: Any = {"sendInitialEvents": "false", "resourceVersionMatch": "NotOlderThan"}
    watch = await api.watch(CONFIGMAPS, resourceVersion=since, **query)
    assert (await watch.next())[1]["metadata"]["name"] == "b"
    unversioned = await api.watch(CONFIGMAPS, **query)
    assert await unversioned.is_silent()


async def test_leaving_a_selection_is_a_deletion_and_coming_in_an_addition(api: Api) -> None:
    await make(api, "a", app="x")
    watch = await api.watch(CONFIGMAPS, resourceVersion=api.plane.store.revision, labelSelector="app=x")
    left = (await api("PATCH", f"{CONFIGMAPS}/a", {"metadata": {"labels": {"app": "y"}}}, type=MERGE_PATCH)).json
    kind, obj = await watch.next()
    assert (kind, obj["metadata"]["labels"]) == ("DELETED", {"app": "x"})
    assert obj["metadata"]["resourceVersion"] == left["metadata"]["resourceVersion"]
    await api("PATCH", f"{CONFIGMAPS}/a", {"metadata": {"labels": {"app": "x"}}}, type=MERGE_PATCH)
    assert (await watch.next())[0] == "ADDED"


async def test_a_watch_from_a_compacted_revision_says_so_in_the_stream(api: Api) -> None:
    await make(api, "a")
    old = api.plane.store.revision
    await make(api, "b", "c")
    await api.plane.store.compact(api.plane.store.revision)
    watch = await api.watch(CONFIGMAPS, resourceVersion=old)
    kind, status = await watch.next()
    assert (kind, status["code"], status["reason"]) == ("ERROR", 410, "Expired")
    assert await watch.ends()


@pytest.mark.parametrize(
    "query", [{"labelSelector": "app"}, {"fieldSelector": "type=Opaque"}], ids=["labels", "fields"]
)
async def test_a_selector_reads_large_objects_beside_the_event_loop(
    api: Api, query: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = CONFIGMAPS.replace("configmaps", "secrets")
    for name in "ab":
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "labels": {"app": name}}}
        assert (await api("POST", secrets, secret | {"stringData": {"text": "x" * 300_000}})).status == 201
    threads: list[int] = []

    def read(record: Record) -> Note:
        threads.append(get_ident())
        return note_of(record)

    monkeypatch.setattr("homeostat.server.view.selection.note_of", read)
    assert {"a", "b"} <= set(names_of((await api("GET", secrets, **query)).json))
    assert threads
    assert get_ident() not in threads
    threads.clear()
    await api("GET", secrets, **query)
    assert set(threads) <= {get_ident()}, "they are known now"


async def test_a_watch_that_is_closed_while_it_starts_replays_no_more(api: Api, monkeypatch: Any) -> None:
    monkeypatch.setattr("homeostat.edge.turn.TURN_S", 0.0)
    monkeypatch.setattr("homeostat.store.replica._MOST_EVENTS", 1)
    since = api.plane.store.revision
    made: list[Any] = []
    has_begun = asyncio.Event()
    await make(api, *(f"c{number}" for number in range(40)))

    def frame(_: Any, event: Any) -> bytes:
        made.append(event)
        has_begun.set()
        return b""

    monkeypatch.setattr("homeostat.server.verbs.watch.shared_frame", frame)
    before = len(api.plane.watches)
    watch = await api.watch(CONFIGMAPS, resourceVersion=since)
    await has_begun.wait()
    watch.close()
    for _ in range(60):
        await asyncio.sleep(0)

    assert len(made) < 10
    assert len(api.plane.watches) == before


async def test_a_watch_ends_at_its_time(api: Api) -> None:
    watch = await api.watch(CONFIGMAPS, resourceVersion=api.plane.store.revision, timeoutSeconds=1)
    async with asyncio.timeout(4):
        assert await watch.ends()


async def test_an_idle_watch_gets_bookmarks(api: Api, monkeypatch: Any) -> None:
    monkeypatch.setattr("homeostat.server.verbs.watch.BOOKMARK_EVERY_S", 0.0)
    watch = await api.watch(CONFIGMAPS, resourceVersion=api.plane.store.revision, allowWatchBookmarks="true")
    kind, mark = await watch.next()
    assert (kind, mark["metadata"]["resourceVersion"]) == ("BOOKMARK", str(api.plane.store.revision))


async def test_a_watch_of_one_name_sees_no_other(api: Api) -> None:
    watch = await api.watch(CONFIGMAPS, resourceVersion=api.plane.store.revision, fieldSelector="metadata.name=b")
    await make(api, "a", "b")
    kind, obj = await watch.next()
    assert (kind, obj["metadata"]["name"]) == ("ADDED", "b")


async def test_watches_can_be_tables(api: Api) -> None:
    watch = await api.watch(CONFIGMAPS, resourceVersion=api.plane.store.revision, headers=TABLE)
    await make(api, "a")
    kind, table = await watch.next()
    assert (kind, table["kind"], table["rows"][0]["cells"][:2]) == ("ADDED", "Table", ["a", 1])


async def test_rows_of_large_objects_in_a_watch_are_made_in_a_thread(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = noting_threads(monkeypatch, Columns, "prepare")
    watch = await api.watch(CONFIGMAPS, resourceVersion=api.plane.store.revision, headers=TABLE)
    large = {"text": "x" * 100_000}
    await asyncio.gather(*(api("POST", CONFIGMAPS, configmap(f"c{at}", data=large)) for at in range(8)))
    tables = [(await watch.next())[1] for _ in range(8)]
    assert sorted(each["rows"][0]["cells"][0] for each in tables) == [f"c{at}" for at in range(8)]
    assert [each["columnDefinitions"] is not None for each in tables] == [True] + [False] * 7
    assert threads == {False}


async def test_the_age_in_a_watched_table_is_that_at_the_event(api: Api) -> None:
    began = datetime.now(UTC)
    api.plane.app.backend.clock = began.timestamp
    await make(api, "a")
    watch = await api.watch(CONFIGMAPS, resourceVersion=api.plane.store.revision, headers=TABLE)
    api.plane.app.backend.clock = (began + timedelta(minutes=5)).timestamp
    await api("PATCH", f"{CONFIGMAPS}/a", {"data": {"x": "2"}}, type=MERGE_PATCH)
    assert (await watch.next())[1]["rows"][0]["cells"] == ["a", 1, "5m"]


async def test_a_watch_that_fails_on_an_event_ends(api: Api, monkeypatch: Any) -> None:
    watch = await api.watch(CONFIGMAPS, resourceVersion=api.plane.store.revision, allowWatchBookmarks="true")
    assert await watch.is_silent()

    def fail(*_: object) -> bytes:
        raise ValueError("cannot be shown")

    with monkeypatch.context() as patched:
        patched.setattr("homeostat.server.verbs.watch.shared_frame", fail)
        await make(api, "a")
    assert await watch.ends()


@pytest.mark.parametrize("query", ["watch", "watch=", "watch=1", "watch=true"])
async def test_a_watch_is_asked_for_in_several_ways(api: Api, query: str) -> None:
    request = Request("GET", CONFIGMAPS, query, Headers(), b"", Peer(""), {"user": SELF})
    answer = api.plane.app.handle(request)
    assert isinstance(await answer if isinstance(answer, Awaitable) else answer, StreamReply)


async def test_every_watch_opened_at_any_event_replays_the_same_order(api: Api) -> None:
    start = api.plane.store.revision
    for step in range(12):
        await make(api, f"n{step}")
        await api("PATCH", f"{CONFIGMAPS}/n0", {"data": {"x": str(step)}}, type=MERGE_PATCH)
    whole = await api.watch(CONFIGMAPS, resourceVersion=start)
    order: list[str] = []
    while len(order) < api.plane.store.revision - start:
        order.append((await whole.next())[1]["metadata"]["resourceVersion"])
    for place, version in enumerate(order):
        again = await api.watch(CONFIGMAPS, resourceVersion=version)
        rest = [(await again.next())[1]["metadata"]["resourceVersion"] for _ in order[place + 1 :]]
        assert rest == order[place + 1 :]
        again.close()


async def test_a_watch_of_a_table_sends_its_columns_once(api: Api) -> None:
    await make(api, "a")
    await make(api, "b")
    accept = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    first, second = [await api.watch(CONFIGMAPS, headers=accept, **query) for query in ({}, {"resourceVersion": 1})]
    await make(api, "c")
    for watch in (first, second):
        tables = [(await watch.next())[1] for _ in range(3)]
        assert [len(each["columnDefinitions"] or ()) for each in tables] == [3, 0, 0]
        assert [each["rows"][0]["cells"][0] for each in tables] == ["a", "b", "c"]
        watch.close()


async def test_watchers_of_the_same_share_the_bytes_of_large_events(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Joined for each of a thousand streams, the events of one commit took gigabytes."""
    sent: list[bytes] = []
    send = LocalStream.send

    def noted(stream: LocalStream, chunk: bytes) -> None:
        sent.append(chunk)
        send(stream, chunk)

    watches = [await api.watch(CONFIGMAPS) for _ in range(3)]
    await asyncio.sleep(0.05)
    monkeypatch.setattr(LocalStream, "send", noted)
    names = ("large-1", "large-2")
    await asyncio.gather(*(api("POST", CONFIGMAPS, configmap(name, data={"a": "x" * 20_000})) for name in names))
    large = [each for each in sent if b"large-" in each]
    assert len({id(each) for each in large}) == len(names)
    assert len(large) == len(names) * len(watches)
    for watch in watches:
        watch.close()


async def test_bookmarks_of_many_watches_are_sent_over_many_turns(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("homeostat.server.verbs.watch.BOOKMARK_EVERY_S", 0.0)
    watches = [await api.watch(CONFIGMAPS, allowWatchBookmarks="true") for _ in range(20)]
    await asyncio.sleep(0.05)
    loop, sent, most = asyncio.get_running_loop(), 0, 0
    send = LocalStream.send

    def noted(stream: LocalStream, chunk: bytes) -> None:
        nonlocal sent
        sent += 1
        send(stream, chunk)

    monkeypatch.setattr(LocalStream, "send", noted)
    monkeypatch.setattr("homeostat.edge.turn.TURN_S", 0.0)
    ticking = loop.create_task(api.plane.watches.tick())
    while not ticking.done():
        before = sent
        await asyncio.sleep(0)
        most = max(most, sent - before)
    assert sent >= len(watches)
    assert most <= 2
    for watch in watches:
        assert (await watch.next())[0] == "BOOKMARK"
        watch.close()
