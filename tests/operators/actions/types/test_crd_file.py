"""The definitions that are kept for `kubectl apply` are those of the code."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from homeostat.cli.operators.crds import command
from homeostat.operators.actions.api import KINDS


def test_the_definitions_that_are_kept_are_those_of_the_code() -> None:
    kept = Path(__file__).parents[4] / "deploy" / "crds" / "actions.yaml"
    printed = CliRunner().invoke(command, ["--operators", "actions"]).stdout
    assert kept.read_text() == printed, "homeostat crds --operators actions > deploy/crds/actions.yaml"


def test_no_column_is_named_as_another_or_as_what_every_table_begins_with() -> None:
    for each in KINDS:
        names = ["name", *(column.name.lower() for column in each.columns)]
        assert len(names) == len(set(names)), each.kind.kind
