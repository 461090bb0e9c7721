"""Positions of readers, and how a change is described."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from homeostat.operators.actions.api import ID
from homeostat.web.actions.events.frame import events_of
from homeostat.web.actions.events.position import Position, position_of, read_position
from homeostat.web.actions.index.entry import Entry


@pytest.mark.parametrize(
    ("reached", "text"),
    [
        ({}, "0"),
        ({"Note": 12}, "12.Note-12"),
        ({"": 10, "Note": 12}, "10.Note-12"),
        ({"": 20, "Note": 12}, "12.Note-12"),
        ({"": 10, "Page": 11, "Note": 12, "Task": 10}, "10.Note-12.Page-11.Task-10"),
    ],
)
def test_a_position_is_the_lowest_revision_and_that_of_each_kind(reached: dict[str, int], text: str) -> None:
    position = position_of(reached)
    assert str(position) == text
    assert read_position(text) == position
    assert all(position.of(kind) == revision for kind, revision in reached.items() if kind)
    assert position.of("Unheard") == position.floor


@pytest.mark.parametrize("text", ["", "x", "-1", "1.", "1.Note", "1.Note-", "1.No.te-2", "9" * 19, "1\n", "\u0661"])
def test_what_is_no_position_is_nowhere(text: str) -> None:
    assert read_position(text) == Position(0)


def entry(number: int = 1, *, uid: str = "a", runs: int = 0) -> Entry:
    labels = {ID: str(number)} if number else {}
    obj: dict[str, Any] = {
        "metadata": {"name": "one", "uid": uid, "labels": labels},
        "status": {"reconciliations": runs},
    }
    return msgspec.json.decode(msgspec.json.encode(obj), type=Entry)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        pytest.param(None, entry(), ["CREATED"], id="new"),
        pytest.param(None, entry(0), [], id="new without a number"),
        pytest.param(entry(0), entry(1), ["CREATED"], id="it gets its number"),
        pytest.param(entry(1), entry(0), [], id="somebody took its number away"),
        pytest.param(entry(), entry(), ["MODIFIED"], id="changed"),
        pytest.param(entry(), entry(runs=1), ["RECONCILED"], id="a run has ended"),
        pytest.param(entry(), None, ["DELETED"], id="gone"),
        pytest.param(entry(0), None, [], id="gone before it had a number"),
        pytest.param(entry(1), entry(2, uid="b"), ["DELETED", "CREATED"], id="another of the same name"),
        pytest.param(entry(1), entry(2), ["DELETED", "CREATED"], id="it goes by another number"),
    ],
)
def test_a_change_is_described_as(old: Entry | None, new: Entry | None, told: list[str]) -> None:
    assert [each for each, _ in events_of(old, new)] == told
