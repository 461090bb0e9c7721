"""Tables that other programs can read as well."""

from __future__ import annotations

import sys

import pytest

from homeostat.cli.console.table import Table, shorten_commits


def test_a_row_is_one_line_however_long(capsys: pytest.CaptureFixture[str]) -> None:
    Table(["NAME", "TEXT"]).print([["a", "x" * 500], ["b", "y z"]])
    assert capsys.readouterr().out == f"NAME   TEXT\na      {'x' * 500}\nb      y z\n"


def test_a_later_part_keeps_the_columns_and_repeats_no_heading(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(["NAME", "N"], indent=2)
    table.print([["long-name", 1]])
    table.print([["a", 2]])
    assert capsys.readouterr().out == "  NAME        N\n  long-name   1\n  a           2\n"


def test_what_an_object_says_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    Table(["NAME"]).print([["\x1b[31mred\x07"], ["[bold]plain[/bold]"], ["two\nlines"], [None], [True]])
    assert capsys.readouterr().out.splitlines() == [
        "NAME",
        " [31mred",
        "[bold]plain[/bold]",
        "two lines",
        "",
        "true",
    ]


def test_a_narrow_terminal_folds_cells_and_loses_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm")
    words = "the text is longer than the terminal is wide"
    Table(["TYPE", "MESSAGE"], indent=2).print([["Normal", words]])
    lines = capsys.readouterr().out.splitlines()  # the heading has codes for bold in it
    assert max(map(len, lines[1:])) <= 40
    assert " ".join(" ".join(lines[1:]).split()) == f"Normal {words}"


def test_commits_are_shortened_wherever_they_are_in_a_cell() -> None:
    commit = "0123456789abcdef" * 4
    assert shorten_commits(f"main-{commit[:40]}") == "main-0123456789"
    assert (shorten_commits(commit), shorten_commits(commit[:39])) == ("0123456789", commit[:39])
