"""How a command ends badly: one line on standard error that says what to do next, and an exit code."""

from __future__ import annotations

from typing import IO, Any

import click


class Failure(click.ClickException):
    """Refused or failed."""

    exit_code = 1

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"error: {one_line(self.message)}", err=True)


class UnreachableFailure(Failure):
    """The server cannot be reached."""

    exit_code = 3


def one_line(text: str) -> str:
    """Words from outside, fit for a terminal: no line breaks, no control characters."""
    return "".join(each if each.isprintable() else " " for each in " ".join(text.split()))
