"""The verdict names what is wrong, and only that."""

from __future__ import annotations

from math import inf

import pytest

from tests.consistency.clients import Step
from tests.consistency.messages import Answer, Delivered, Failed, Found, Read, Refused, Stored, Write
from tests.consistency.verdict import violations

LOG = [Delivered(1, "ADDED", "a", "one"), Delivered(2, "MODIFIED", "a", "two"), Delivered(3, "ADDED", "b", "three")]


def write(name: str, expect: int, text: str, answer: Answer | None, began: float, ended: float) -> Step:
    return Step(Write(name, expect, text), answer, began, ended)


ONE = write("a", 0, "one", Stored(1), 0, 1)
TWO = write("a", 1, "two", Stored(2), 2, 3)
THREE = write("b", 0, "three", Stored(3), 4, 5)


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([ONE, TWO, THREE], id="all-acknowledged"),
        pytest.param([ONE, write("a", 1, "two", None, 2, inf), THREE], id="one-never-answered"),
        pytest.param([ONE, TWO, THREE, write("b", 3, "lost", None, 6, inf)], id="one-never-answered-and-not-stored"),
        pytest.param([ONE, TWO, THREE, write("b", 2, "late", Refused(3), 6, 7)], id="a-refusal"),
        pytest.param([ONE, TWO, THREE, write("b", 3, "away", Failed("away"), 6, 7)], id="a-failure"),
        pytest.param([ONE, TWO, THREE, Step(Read("a"), Found(2, "two"), 6, 7)], id="a-read"),
        pytest.param([ONE, TWO, THREE, Step(Read("c"), Found(0), 6, 7)], id="a-read-of-nothing"),
    ],
)
def test_what_one_order_explains_is_no_violation(steps: list[Step]) -> None:
    assert violations(LOG, [steps], [LOG, LOG]) == []


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param([write("a", 2, "x", Stored(4), 6, 7)], "acknowledged at 4, and the log has None", id="lost"),
        pytest.param([write("a", 1, "two", Refused(1), 2, 3)], "was refused, and the log has", id="refused-and-stored"),
        pytest.param([write("a", 1, "two", Failed("x"), 2, 3)], "was refused, and the log has", id="failed-and-stored"),
        pytest.param([ONE, TWO, Step(Read("a"), Found(1, "one"), 6, 7)], "explains", id="stale-read"),
        pytest.param([ONE, TWO, write("a", 0, "x", Refused(1), 6, 7)], "explains", id="stale-refusal"),
        pytest.param(
            [write("b", 0, "three", Stored(3), 0, 1), write("a", 1, "two", Stored(2), 2, 3)],
            "revision 2 was asked for after 3",
            id="order-turned",
        ),
    ],
)
def test_an_answer_that_no_order_explains_is_named(steps: list[Step], expected: str) -> None:
    assert expected in "\n".join(violations(LOG, [steps], []))


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(LOG[:2], id="missed-the-last"),
        pytest.param([LOG[0], LOG[2]], id="skipped-one"),
        pytest.param([LOG[0], LOG[0], *LOG[1:]], id="repeated-one"),
        pytest.param([LOG[1], LOG[0], LOG[2]], id="turned-two"),
    ],
)
def test_a_watcher_that_saw_another_log_is_named(seen: list[Delivered]) -> None:
    (expected,) = violations(LOG, [], [LOG, seen])
    assert expected.startswith("watcher 1 received")


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        pytest.param([LOG[0], LOG[2]], "gaps or repeats", id="gap"),
        pytest.param([LOG[0], Delivered(2, "ADDED", "b", "one")], "2 times", id="stored-twice"),
    ],
)
def test_a_log_that_is_not_one_order_of_writes_is_named(log: list[Delivered], expected: str) -> None:
    assert expected in "\n".join(violations(log, [], []))
