"""Errors of commands: one line on standard error that says what to do next, and an exit code.

Everything that goes wrong is printed by `print_error`, the mistakes in a command line that click finds included.
"""

from __future__ import annotations

import re
import sys
from typing import IO, Any, Final

import click

from homeostat.cli.console.colour import is_coloured, paint

INTERRUPTED: Final = 130
_not_in_range = re.compile(r"is not (a valid integer range|in the range \S+)$")


class Failure(click.ClickException):
    """The command was refused or has failed."""

    exit_code = 1

    def show(self, file: IO[Any] | None = None) -> None:
        print_error(self.message)


class UsageFailure(Failure):
    """The command line names something that does not exist or is invalid."""

    exit_code = 2


class UnreachableFailure(Failure):
    """The server cannot be reached."""

    exit_code = 3


class Refusals:
    """Counts what a command could not do for some objects, while it continues with the others."""

    def __init__(self) -> None:
        self.count = 0

    def add(self, message: str) -> None:
        self.count += 1
        print_error(message)

    def exit_if_any(self) -> None:
        """Exit with 1 if there was one. Call it last."""
        if self.count:
            raise click.exceptions.Exit(Failure.exit_code)


def print_error(text: str) -> None:
    _print("error", "red", text)


def print_warning(text: str) -> None:
    _print("warning", "yellow", text)


def _print(label: str, colour: str, text: str) -> None:
    label = paint(f"{label}:", colour, sys.stderr)
    click.echo(f"{label} {one_line(text)}", err=True, color=is_coloured(sys.stderr))


def usage_text(error: click.UsageError) -> str:
    """The message of a mistake in the command line, with the help that explains it."""
    text = error.format_message().removesuffix(".")
    if text[:1].isupper() and text[1:2].islower():
        # click's own messages are sentences.
        text = text[0].lower() + text[1:]
    if isinstance(error, click.NoSuchOption):
        near = f"; did you mean {error.possibilities[0]}?" if error.possibilities else ""
        text = f"there is no option {error.option_name}{near}"
    if isinstance(error, click.BadParameter) and error.param is not None:
        text = _in_words(text, error.param.type)
    if error.ctx is None:
        return text
    return f"{text}{' See' if text.endswith('?') else '; see'}: {error.ctx.command_path} --help"


def _in_words(text: str, expected: click.ParamType[Any]) -> str:
    """click's text is "'x' is not a valid integer range", or "7 is not in the range x>=8"."""
    if not isinstance(expected, click.IntRange):
        return text
    bounds = f"from {expected.min} to {expected.max}" if expected.max is not None else f"of at least {expected.min}"
    return _not_in_range.sub(f"is not a whole number {bounds}", text)


def one_line(text: str) -> str:
    """Text from outside, made safe for a terminal: no line breaks, no control characters."""
    return "".join(each if each.isprintable() else " " for each in " ".join(text.split()))
