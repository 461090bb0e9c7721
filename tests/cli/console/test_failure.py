"""Errors and warnings have one form, and one place prints them."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from homeostat.cli.console.failure import Refusals, print_error, print_warning, usage_text
from homeostat.cli.main import main

CLI = Path(__file__).parents[3] / "homeostat" / "cli"
_prints_itself = re.compile(r"""["'](?:error|warning): """, re.IGNORECASE).search


def test_no_command_prints_errors_by_itself() -> None:
    modules = [path for path in CLI.rglob("*.py") if path != CLI / "console" / "failure.py"]
    found = [path for path in modules if _prints_itself(path.read_text())]
    assert len(modules) > 100
    # The comment in a text that is opened in an editor.
    assert found == [path for path in found if path.name == "edit.py"]


def test_a_text_from_outside_stays_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_error("a\nb\x1b[2J")
    print_warning("c\td")
    assert capsys.readouterr().err == "error: a b [2J\nwarning: c d\n"


def test_a_refusal_is_printed_at_once_and_ends_the_command_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    refusals = Refusals()
    refusals.exit_if_any()
    refusals.add("configmap/a: forbidden")
    assert capsys.readouterr().err == "error: configmap/a: forbidden\n"
    with pytest.raises(click.exceptions.Exit) as ended:
        refusals.exit_if_any()
    assert ended.value.exit_code == 1


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (click.UsageError("name one"), "name one; see: homeostat get --help"),
        (click.UsageError("Missing argument 'A'."), "missing argument 'A'; see: homeostat get --help"),
        (click.UsageError("KIND is missing"), "KIND is missing; see: homeostat get --help"),
        (
            click.NoSuchOption("--al", possibilities=["--all"]),
            "there is no option --al; did you mean --all? See: homeostat get --help",
        ),
        (click.NoSuchOption("--zz"), "there is no option --zz; see: homeostat get --help"),
    ],
)
def test_a_mistake_in_the_command_line_leads_to_the_help(error: click.UsageError, text: str) -> None:
    error.ctx = click.Context(click.Command("get"), info_name="homeostat get")
    assert usage_text(error) == text


@pytest.mark.parametrize(
    ("text", "bounds", "words"),
    [
        ("x", click.IntRange(0, 65535), "'x' is not a whole number from 0 to 65535"),
        ("70000", click.IntRange(0, 65535), "70000 is not a whole number from 0 to 65535"),
        ("0", click.IntRange(1), "0 is not a whole number of at least 1"),
    ],
)
def test_a_number_out_of_range_is_refused_with_its_bounds(text: str, bounds: click.IntRange, words: str) -> None:
    command = click.Command("up", params=[click.Option(["--port"], type=bounds)])
    with pytest.raises(click.BadParameter) as raised:
        command.make_context("homeostat up", ["--port", text])
    assert usage_text(raised.value) == f"invalid value for '--port': {words}; see: homeostat up --help"


@pytest.mark.parametrize(
    ("words", "moved"),
    [
        (("--kubeconfig", "x", "get", "pods"), "homeostat get pods --kubeconfig x"),
        (("policy", "-n", "shop", "analyze"), "homeostat policy analyze -n shop"),
    ],
    ids=["of a command", "of a command in a group"],
)
def test_an_option_before_its_command_is_shown_where_it_belongs(words: tuple[str, ...], moved: str) -> None:
    done = CliRunner().invoke(main, words, prog_name="homeostat")
    assert done.exit_code == 2
    assert f"options follow it: {moved}; see: " in done.stderr
