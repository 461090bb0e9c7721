"""The language agrees with Google's implementation, expression by expression."""

from __future__ import annotations

import pytest

from tests.cel.expressions import expressions
from tests.cel.oracle import NO_VALUE, REFUSED, Outcome, oracle_outcome, our_outcome

_LITERAL = "Kubernetes refuses a wrong literal when the expression is compiled"
_GO = "as Go has it, and so Kubernetes"
DIFFERENCES: dict[str, tuple[Outcome, str]] = {
    "i < d": (("value", "bool", ("bool", False)), "Kubernetes compares numbers across types"),
    "int(' 1')": (NO_VALUE, _GO),
    "double(' 1')": (NO_VALUE, _GO),
    "string(timestamp('2020-01-01T00:00:00.5Z'))": (("value", "string", "2020-01-01T00:00:00.5Z"), _GO),
    **dict.fromkeys(
        (
            "'abc'.matches('(')",
            "'abc'.matches('(?=a)')",
            r"'aa'.matches('(a)\\1')",
            "timestamp('2020-01-02')",
            "timestamp('2020-13-02T03:04:05Z')",
            "timestamp('2020-02-30T03:04:05Z')",
            "timestamp('2020-01-02T25:04:05Z')",
            "timestamp('0000-01-01T00:00:00Z')",
            "timestamp('a')",
            "duration('')",
            "duration('1')",
            "duration('1x')",
            "duration('1h 1m')",
            "'%s'.format([])",
            "'%d'.format(['a'])",
            "'%f'.format(['a'])",
            "'%b'.format(['a'])",
            "'%z'.format([1])",
            "'%'.format([1])",
        ),
        (REFUSED, _LITERAL),
    ),
}


@pytest.mark.parametrize("text", expressions())
def test_an_expression_has_the_outcome_that_google_gives_it(text: str) -> None:
    wanted = DIFFERENCES[text][0] if text in DIFFERENCES else oracle_outcome(text)
    assert our_outcome(text) == wanted


def test_a_listed_difference_is_one() -> None:
    assert [text for text, (outcome, _) in DIFFERENCES.items() if oracle_outcome(text) == outcome] == []
