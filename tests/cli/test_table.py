"""Tables that other programs can read as well."""

from __future__ import annotations

import pytest

from homeostat.cli.table import Table


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
