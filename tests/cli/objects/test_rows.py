"""Rows of a server that knows no Tables: there are some, by name and age."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

from homeostat.cli.objects.rows import Columns, as_table, fetch_table
from homeostat.client.base import Client, Response, Transport
from homeostat.objects.kind import CONFIG_MAP
from homeostat.plane import Settings, open_plane


class Tableless:
    """As a server, or somebody in between, that takes no notice of what form is asked for."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    async def send(
        self, method: str, path: str, *, query: str = "", body: bytes = b"", content_type: str = "", accept: str = ""
    ) -> Response:
        return await self._inner.send(method, path, query=query, body=body, content_type=content_type)

    async def stream(self, path: str, *, query: str = "", accept: str = "") -> Response | AsyncIterator[bytes]:
        return await self._inner.stream(path, query=query)


async def test_a_server_without_tables_shows_its_objects(tmp_path: Path) -> None:
    async with open_plane(Settings(data=tmp_path, port=0, is_open=True, operators=frozenset())) as plane:
        for name in ("a", "b"):
            await plane.client.create(CONFIG_MAP.path("default"), CONFIG_MAP.new(name))
        tableless: Client = plane.client.over(Tableless)
        every = await fetch_table(tableless, CONFIG_MAP.path("default"))
        one = await fetch_table(tableless, CONFIG_MAP.path("default", "b"))
        table = await fetch_table(plane.client, CONFIG_MAP.path("default"))

    names = [row["cells"][0] for row in every["rows"] if not row["cells"][0].startswith("kube-")]
    assert names == ["a", "b"]
    assert [row["cells"][0] for row in one["rows"]] == ["b"]
    assert all(row["cells"][1].endswith("s") for row in one["rows"])
    assert [each["name"] for each in table["columnDefinitions"]] == ["Name", "Data", "Age"]


def test_an_object_without_a_time_has_no_age() -> None:
    assert as_table({"kind": "Thing", "metadata": {"name": "x"}})["rows"][0]["cells"] == ["x", ""]


def test_an_empty_list_has_no_rows_however_it_is_written() -> None:
    assert as_table({"kind": "ThingList", "metadata": {"resourceVersion": "1"}, "items": None})["rows"] == []


def test_an_object_with_items_of_its_own_is_one_row() -> None:
    thing = {"kind": "Menu", "metadata": {"name": "x"}, "items": ["soup"]}
    assert [row["cells"][0] for row in as_table(thing)["rows"]] == ["x"]


def test_commits_are_shortened_unless_wide_and_names_never() -> None:
    commit = "0123456789abcdef0123" * 2
    table = {"columnDefinitions": [{"name": "Name"}, {"name": "Tag"}], "rows": [{"cells": [commit, commit]}]}
    for is_wide, tag in ((False, commit[:10]), (True, commit)):
        columns = Columns(table, CONFIG_MAP, is_wide=is_wide, with_namespace=False, with_kind=False)
        assert [*columns.cells(table)] == [[commit, tag]]
