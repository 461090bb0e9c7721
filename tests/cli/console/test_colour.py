"""States are coloured on a terminal, unless the user says otherwise."""

from __future__ import annotations

import io

import click
import pytest

from homeostat.cli.console.colour import colour_of, colour_of_one_run, colour_option, paint
from tests.cli.running import Cli, Up

GREEN_ACTIVE = "\x1b[32mActive\x1b[0m"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("heading", "text", "colour"),
    [
        ("PHASE", "ready", "green"),
        ("STATUS", "Terminating", "yellow"),
        ("READY", "False", "red"),
        ("READY", "2/2", "green"),
        ("READY", "0/2", "yellow"),
        ("SEVERITY", "critical", "bold red"),
        ("SEVERITY", "low", "cyan"),
        ("STATUS", "False", ""),
        ("STATUS", "anything else", ""),
        ("NAME", "failed", ""),
        ("READY", "READY", ""),
    ],
)
def test_a_state_has_a_colour_in_a_column_of_states(heading: str, text: str, colour: str) -> None:
    assert colour_of(heading, text) == colour


@pytest.mark.parametrize(
    ("environment", "option", "is_coloured"),
    [
        ({}, None, True),
        ({"NO_COLOR": "1"}, None, False),
        ({"NO_COLOR": ""}, None, True),
        ({"TERM": "dumb"}, None, False),
        ({"NO_COLOR": "1"}, "always", True),
        ({}, "never", False),
    ],
)
def test_a_terminal_is_coloured_unless_the_user_says_otherwise(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], option: str | None, is_coloured: bool
) -> None:
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with colour_of_one_run():
        if option is not None:
            click.Command("get", params=[colour_option()]).make_context("get", ["--color", option])
        assert (paint("Active", "green", Terminal()) == GREEN_ACTIVE) is is_coloured
    assert paint("Active", "green", io.StringIO()) == "Active"


@pytest.mark.parametrize("words", [("--color", "always", "get", "ns"), ("get", "ns", "--color", "always")])
def test_colour_is_chosen_before_or_after_the_command(up: Up, words: tuple[str, ...]) -> None:
    assert GREEN_ACTIVE in up.cli.here(*words).out
    assert "\x1b" not in up.cli.here("get", "ns").out


def test_an_error_is_coloured_alike(cli: Cli) -> None:
    assert cli.here("--color", "always", "nope").err.startswith('\x1b[31merror:\x1b[0m there is no command "nope"')
