"""Progress: drawn on a terminal, silent elsewhere."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr

import pytest

from homeostat.cli.console.progress import counting, progress, status_lines


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@contextmanager
def on_terminal() -> Iterator[Terminal]:
    with pytest.MonkeyPatch.context() as patch, redirect_stderr(Terminal()) as shown:
        patch.setenv("TERM", "xterm")
        yield shown


def test_a_pipe_gets_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("reading", 1000) as advance, counting(["a"], "Pods") as counters:
        advance(10)
        counters["a"](5)
    assert capsys.readouterr() == ("", "")


def test_a_bar_shows_how_much_is_done() -> None:
    with on_terminal() as shown, progress("reading", 1000) as advance:
        advance(1000)
    assert "reading" in shown.getvalue()
    assert "1000/1000" in shown.getvalue()


def test_a_small_total_is_not_worth_a_bar() -> None:
    with on_terminal() as shown, progress("reading", 10, worth=200) as advance:
        advance(10)
    assert shown.getvalue() == ""


def test_each_name_counts_for_itself() -> None:
    with on_terminal() as shown, counting(["staging", "production"], "Pods") as counters:
        counters["staging"](1200)
        counters["staging"](34)
    assert "1,234 Pods" in shown.getvalue()
    assert "production" in shown.getvalue()


def test_lines_are_shown_until_their_text_is_gone_and_many_are_counted() -> None:
    with on_terminal() as shown, status_lines() as show:
        for number in range(25):
            show(f"thing-{number}", lambda _: "waits")
        show("thing-0", lambda _: "runs\nfast")
    assert "thing-0 runs fast" in shown.getvalue()
    assert "and 5 more" in shown.getvalue()
