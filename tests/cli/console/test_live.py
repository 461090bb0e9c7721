"""A live table: rows in a pipe, and as many as fit on a terminal."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from homeostat.cli.console.live import View, show_live, table_of
from homeostat.client.base import Event
from homeostat.objects.json import JsonObject


def thing(name: str, score: int | None) -> JsonObject:
    return {"kind": "Thing", "metadata": {"name": name}, "score": score}


VIEW = View(
    ("NAME", "SCORE", "AGE"),
    lambda obj, now: (obj["metadata"]["name"], obj["score"], f"{now:.0f}s"),
    lambda obj: obj["score"] or 0,
    lambda obj: "red" if obj["score"] == 1 else "",
)


async def changes(*events: Event) -> AsyncGenerator[Event, None]:
    for event in events:
        yield event


async def test_every_change_of_every_stream_is_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    view = View(VIEW.headings, lambda obj, _: (obj["metadata"]["name"], obj["score"], ""), VIEW.rank, VIEW.style)
    added, gone = Event("ADDED", thing("a", 1)), Event("DELETED", thing("b", None))
    await show_live(view, [changes(added), changes(gone)])
    heading, *rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert heading == ["EVENT", "NAME", "SCORE", "AGE"]
    assert rows == [["ADDED", "a", "1"], ["DELETED", "b"]]


async def test_an_error_of_one_stream_ends_the_table() -> None:
    async def broken() -> AsyncGenerator[Event, None]:
        yield Event("ADDED", thing("a", 1))
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError):
        await show_live(VIEW, [broken()])


def test_the_rows_of_the_lowest_rank_come_first_and_the_rest_is_counted() -> None:
    table = table_of(VIEW, [thing("c", 3), thing("a", 1), thing("b", 2)], 5.0, most=2)
    assert [str(cell) for cell in table.columns[0].cells] == ["a", "b"]
    assert [str(cell) for cell in table.columns[2].cells] == ["5s", "5s"]
    assert table.caption == "and 1 more"


def test_what_is_not_there_is_an_empty_cell() -> None:
    assert [str(cell) for cell in table_of(VIEW, [thing("a", None)], 0.0, most=2).columns[1].cells] == [""]
