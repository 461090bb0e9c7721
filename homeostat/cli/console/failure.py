"""Errors of commands: one line on standard error that says what to do next, and an exit code."""

from __future__ import annotations

from typing import IO, Any

import click


class Failure(click.ClickException):
    """The command was refused or has failed."""

    exit_code = 1

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"error: {one_line(self.message)}", err=True)


class UnreachableFailure(Failure):
    """The server cannot be reached."""

    exit_code = 3


def one_line(text: str) -> str:
    """Text from outside, made safe for a terminal: no line breaks, no control characters."""
    return "".join(each if each.isprintable() else " " for each in " ".join(text.split()))
