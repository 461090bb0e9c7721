"""Shells complete types and names of resources."""

from __future__ import annotations

import pytest

from tests.cli.resource.applying import applied
from tests.cli.running import Cli
from tests.cli.shelf import Shelf, crate


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("resource show cr", ["crate/one", "crate/two"]),
        ("resource delete crate/t", ["crate/two"]),
        ("resource list zebra", []),
        ("type show C", ["Crate/v1"]),
        ("resource h", ["history"]),
    ],
)
def test_a_shell_completes_types_and_names(typed: Cli, shelf: Shelf, line: str, expected: list[str]) -> None:
    applied(typed, crate("one"), crate("two"))
    words = {"COMP_WORDS": f"homeostat {line}", "COMP_CWORD": str(len(line.split()))}
    asked = Cli({**typed.environment, **words, "_HOMEOSTAT_COMPLETE": "bash_complete"})
    assert [each.partition(",")[2] for each in asked().out.split()] == expected


def test_a_shell_completes_nothing_where_no_server_is(cli: Cli) -> None:
    words = {"COMP_WORDS": "homeostat resource show c", "COMP_CWORD": "3", "_HOMEOSTAT_COMPLETE": "bash_complete"}
    assert Cli({**cli.environment, **words})().out.split() == []
