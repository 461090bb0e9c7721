"""Lists and initial events: the same whether they are sent at once or produced as the client reads."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import msgspec
import pytest

from homeostat.edge.items import Items
from homeostat.edge.limits import Limits
from homeostat.edge.server import Server
from homeostat.objects import yaml
from homeostat.objects.wire.encode import encode
from homeostat.plane import Plane, Settings, open_plane
from homeostat.server.view import listing
from homeostat.server.view.listing import PRODUCED_FROM_BYTES
from homeostat.server.view.table_view import TableView
from homeostat.server.view.view import ObjectView
from homeostat.store.base import Record
from tests.api.conftest import Api
from tests.api.objects import CONFIGMAPS, configmap
from tests.edge.wire import connected, eventually

TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
PARTIAL = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
PROTOBUF = "application/vnd.kubernetes.protobuf"
STALL_S = 0.3


@pytest.fixture
async def plane(data: Path) -> AsyncIterator[Plane]:
    limits = Limits(stall_timeout_s=STALL_S)
    settings = Settings(data=data, port=0, is_open=True, limits=limits, operators=frozenset())
    async with open_plane(settings) as plane:
        yield plane


@pytest.fixture
def api(plane: Plane) -> Api:
    return Api(plane)


@pytest.fixture
def server(plane: Plane) -> Server:
    assert plane.server is not None
    return plane.server


async def fill(api: Api, count: int, size: int) -> None:
    for number in range(count):
        created = await api("POST", CONFIGMAPS, configmap(f"c{number:03}", data={"text": "x" * size, "lines": "a\nb"}))
        assert created.status == 201


@pytest.mark.parametrize("is_large", [False, True], ids=["at once", "produced"])
async def test_a_list_is_the_same_in_every_form(api: Api, is_large: bool) -> None:
    await fill(api, 30, PRODUCED_FROM_BYTES // 20 if is_large else 100)
    plain = await api("GET", CONFIGMAPS)
    assert len(plain.json["items"]) == 30
    in_yaml = await api("GET", CONFIGMAPS, headers={"accept": "application/yaml"})
    assert in_yaml.body == yaml.dump(plain.json)
    pretty = await api("GET", CONFIGMAPS, pretty="true")
    assert pretty.body == msgspec.json.format(plain.body, indent=2) + b"\n"
    by_curl = {"user-agent": "curl/8.5.0"}
    assert (await api("GET", CONFIGMAPS, headers=by_curl)).body == pretty.body
    assert (await api("GET", CONFIGMAPS, headers=by_curl, pretty="false")).body == plain.body
    partial = await api("GET", CONFIGMAPS, headers={"accept": PARTIAL})
    assert [each["metadata"] for each in partial.json["items"]] == [each["metadata"] for each in plain.json["items"]]
    table = await api("GET", CONFIGMAPS, headers={"accept": TABLE}, includeObject="Object")
    named = [{"apiVersion": "v1", "kind": "ConfigMap", **each} for each in plain.json["items"]]
    assert [row["object"] for row in table.json["rows"]] == named
    table_in_yaml = await api(
        "GET", CONFIGMAPS, headers={"accept": TABLE.replace("json", "yaml")}, includeObject="None"
    )
    assert yaml.load(table_in_yaml.body)["rows"][29]["cells"][0] == "c029"
    in_protobuf = await api("GET", CONFIGMAPS, headers={"accept": PROTOBUF})
    assert in_protobuf.content_type == PROTOBUF
    assert in_protobuf.body == encode(plain.json)
    metadata_in_protobuf = await api(
        "GET", CONFIGMAPS, headers={"accept": PARTIAL.replace("application/json", PROTOBUF)}
    )
    assert metadata_in_protobuf.body == encode(partial.json)
    if is_large:
        zipped = await api("GET", CONFIGMAPS, headers={"accept": PROTOBUF, "accept-encoding": "gzip"})
        assert (zipped.headers["content-encoding"], gzip.decompress(zipped.body)) == (["gzip"], in_protobuf.body)
        zipped = await api("GET", CONFIGMAPS, headers={"accept-encoding": "gzip"})
        assert (zipped.headers["content-encoding"], gzip.decompress(zipped.body)) == (["gzip"], plain.body)


async def test_a_list_of_many_objects_is_sent_in_batches(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    await fill(api, 30, 100)
    whole = await api("GET", CONFIGMAPS)
    monkeypatch.setattr(listing, "MOST_AT_ONCE", 20)
    monkeypatch.setattr(listing, "_BATCH_RECORDS", 7)
    batches: list[int] = []
    make = ObjectView.joined_items

    def count(view: ObjectView, head: bytes, records: Sequence[Record], tail: bytes) -> Items:
        batches.append(len(records))
        return make(view, head, records, tail)

    monkeypatch.setattr(ObjectView, "joined_items", count)
    assert (await api("GET", CONFIGMAPS)).body == whole.body
    assert batches == [7, 7, 7, 7, 2]


@pytest.mark.slow
async def test_rows_of_a_table_are_made_as_the_client_reads(
    api: Api, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(api, 40, 1_000_000)
    made = 0
    make = TableView.list_items

    def count(view: TableView, records: Sequence[Record]) -> list[bytes]:
        nonlocal made
        made += len(records)
        return make(view, records)

    monkeypatch.setattr(TableView, "list_items", count)
    async with connected(server, read_limit=1) as client:
        client.send(
            f"GET {CONFIGMAPS}?includeObject=Object HTTP/1.1\r\nHost: localhost\r\nAccept: {TABLE}\r\n\r\n".encode()
        )
        await eventually(lambda: server.counters.cut_off == 1)
        assert 0 < made < 30


@pytest.mark.slow
async def test_initial_events_are_sent_as_the_client_reads(api: Api, plane: Plane, server: Server) -> None:
    await fill(api, 40, 1_000_000)
    before = server.counters.bytes_out
    async with connected(server, read_limit=1) as client:
        client.send(f"GET {CONFIGMAPS}?watch=true HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        await eventually(lambda: server.counters.cut_off == 1)
        assert server.counters.bytes_out - before < 30_000_000
    await eventually(lambda: len(plane.watches) == 0)


async def test_a_slow_client_receives_every_initial_event(api: Api, server: Server) -> None:
    await fill(api, 12, 300_000)
    async with connected(server) as client:
        client.send(f"GET {CONFIGMAPS}?watch=true&timeoutSeconds=1 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        await client.head()
        lines = b"".join([chunk async for chunk in client.chunks()]).splitlines()
    events = [msgspec.json.decode(line) for line in lines]
    assert [event["object"]["metadata"]["name"] for event in events] == [f"c{number:03}" for number in range(12)]
    assert {len(event["object"]["data"]["text"]) for event in events} == {300_000}


async def test_large_objects_are_not_indented(api: Api) -> None:
    """The indentation of an object in many levels would be a hundred times its size."""
    large = {"metadata": {"name": "large"}, "data": {"text": "x" * (128 << 10)}}
    assert (await api("POST", CONFIGMAPS, large)).status == 201
    assert (await api("POST", CONFIGMAPS, {"metadata": {"name": "small"}})).status == 201
    assert b"\n" not in (await api("GET", f"{CONFIGMAPS}/large", pretty="true")).body
    assert (await api("GET", f"{CONFIGMAPS}/small", pretty="true")).body.startswith(b'{\n  "')
    listed = await api("GET", CONFIGMAPS, pretty="true")
    assert {each["metadata"]["name"] for each in listed.json["items"]} >= {"large", "small"}
