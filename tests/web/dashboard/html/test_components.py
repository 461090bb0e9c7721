"""Texts as one line: short, plain, and without credentials, however long they are."""

from __future__ import annotations

import time

import pytest

from homeostat.web.dashboard.html.components import one_line

LONG = 240_000


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (" a\n b ", "a b"),
        ("", ""),
        ("x" * 240, "x" * 240),
        ("x" * 241, f"{'x' * 239}…"),
        ("x" * LONG, f"{'x' * 239}…"),
        ("see https://me:secret@host now", "see https://(hidden)@host now"),
        (f"see https://me:{'secret' * 1000}@host", "see https…"),
        (f"https://a.b https://me:{'secret' * 1000}@host", "https://a.b https…"),
        (" " * LONG, "…"),
    ],
    ids=["spaces", "empty", "longest", "longer", "long", "credentials", "long credentials", "second", "blank"],
)
def test_a_text_is_shown_as_one_short_line(text: str, line: str) -> None:
    assert one_line(text) == line


def test_a_long_text_takes_no_longer_than_its_beginning() -> None:
    began = time.thread_time()
    for _ in range(20):
        one_line("a.b.c." * (LONG // 6) + "://x")
    assert time.thread_time() - began < 0.1, "as a whole, each takes 35 ms"
