from __future__ import annotations

import pytest

from homeostat.operators.images.engine.pin import is_set_by_hand


@pytest.mark.parametrize(
    ("current", "known", "wanted", "is_by_hand"),
    [
        (["a"], ["a"], "b", False),
        (["b"], ["a"], "b", False),
        (["c"], ["a"], "b", True),
        (["c"], ["a", ""], "a", True),
        (["c"], [], "b", False),
        (["c"], ["", ""], "b", False),
        (["b"], ["a", "b"], "c", False),
        (["a", "c"], ["a"], "b", True),
        ([""], ["a"], "b", True),
    ],
)
def test_a_third_tag_was_set_by_hand(current: list[str], known: list[str], wanted: str, is_by_hand: bool) -> None:
    assert is_set_by_hand(current, known=known, wanted=wanted) is is_by_hand
