"""The short form of the run over HTTP, and its translation; the long form is started by hand."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from pathlib import Path

import pytest

from tests.consistency.clients import Step
from tests.consistency.http_log import Row, Translation
from tests.consistency.http_run import check
from tests.consistency.messages import Answer, Delivered, Found, Read, Stored, Write
from tests.consistency.verdict import violations
from tests.postgres import Postgres, running_postgres


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with running_postgres() as running:
        yield running


async def test_clients_of_any_plane_see_one_order_while_planes_and_the_database_fail(
    server: Postgres, tmp_path: Path
) -> None:
    report = await check(server, tmp_path / "data", seconds=0, seed=1, fault_every_s=0.3)

    assert report.violations == []
    assert report.revisions > 50
    assert report.resumed > 0
    assert set(report.faults.values()) == {1}


ROWS = [
    Row(Delivered(40, "ADDED", "a", "one"), 0),
    Row(Delivered(43, "DELETED", "a", "one"), 40),
    Row(Delivered(47, "ADDED", "a", "two"), 0),
]


def deletion(expect: int, text: str, answer: Answer | None, began: float, ended: float) -> Step:
    return Step(Write("a", expect, text, is_deletion=True), answer, began, ended)


ONE = Step(Write("a", 0, "one"), Stored(40), 0, 1)
TWO = Step(Write("a", 0, "two"), Stored(47), 6, 7)


def verdict(*steps: Step, seen: list[Delivered]) -> list[str]:
    words = Translation(ROWS, [steps])
    return violations(words.log, [words.writer(steps)], [words.watcher(seen)])


ALL = [row.event for row in ROWS]


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([ONE, deletion(40, "x", Stored(0), 2, 3), TWO], id="acknowledged"),
        pytest.param([ONE, deletion(40, "x", None, 2, inf), TWO], id="never-answered"),
        pytest.param([ONE, deletion(40, "x", Stored(0), 2, 3), deletion(40, "y", None, 2, inf), TWO], id="one-of-two"),
    ],
)
def test_a_run_is_judged_as_one_on_stores_is(steps: list[Step]) -> None:
    assert verdict(*steps, seen=ALL) == []


@pytest.mark.parametrize(
    ("steps", "seen", "expected"),
    [
        pytest.param([ONE, deletion(40, "x", None, 2, inf), TWO], ALL[:2], "watcher 0", id="unseen"),
        pytest.param([ONE, deletion(99, "x", Stored(0), 2, 3), TWO], ALL, "acknowledged", id="lost-deletion"),
        pytest.param(
            [ONE, deletion(40, "x", Stored(0), 2, 3), deletion(40, "y", Stored(0), 2, 3), TWO],
            ALL,
            "the write of y was acknowledged",
            id="deleted-twice",
        ),
        pytest.param(
            [ONE, deletion(40, "x", Stored(0), 2, 3), Step(Read("a"), Found(40, "one"), 4, 5), TWO],
            ALL,
            "no order",
            id="stale-read",
        ),
    ],
)
def test_what_no_order_explains_is_named_over_http_too(steps: list[Step], seen: list[Delivered], expected: str) -> None:
    assert expected in "\n".join(verdict(*steps, seen=seen))
