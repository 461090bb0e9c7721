"""What is computed again and again is kept, unless it is for a text so long that a few would fill the memory."""

from __future__ import annotations

import pytest

from homeostat.objects.memory.cache import LONGEST, cached


@pytest.mark.parametrize(
    ("text", "is_kept"),
    [("a" * LONGEST, True), ("a" * (LONGEST + 1), False), (b"a" * (LONGEST + 1), False), (7, True)],
    ids=["short", "long", "bytes", "number"],
)
def test_the_result_for_a_long_text_is_computed_each_time(text: object, is_kept: bool) -> None:
    calls: list[object] = []

    @cached(8)
    def of(value: object) -> int:
        calls.append(value)
        return len(calls)

    assert [of(text), of(text)] == ([1, 1] if is_kept else [1, 2])


def test_the_number_of_results_has_a_bound() -> None:
    calls: list[int] = []

    @cached(2)
    def of(value: int) -> int:
        calls.append(value)
        return value

    assert [of(each) for each in (1, 2, 3, 1)] == [1, 2, 3, 1]
    assert calls == [1, 2, 3, 1]


def test_what_is_long_for_a_function_is_its_own_choice() -> None:
    calls: list[str] = []

    @cached(8, longest=2000)
    def of(value: str) -> int:
        calls.append(value)
        return len(value)

    assert [of("a" * 2000) for _ in range(2)] == [2000, 2000]
    assert len(calls) == 1
