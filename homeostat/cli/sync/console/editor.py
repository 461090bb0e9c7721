"""A text in the user's editor."""

from __future__ import annotations

import sys

import click

from homeostat.cli.sync.console.run import Run
from homeostat.operators.sync.engine.errors import ValidationError

EDITOR = click.option("--editor", default=None, help="The editor.  [default: that of the catalog, or EDITOR]")


def check_terminal(instead: str) -> None:
    """`instead` names the way without a terminal."""
    if not sys.stdin.isatty():
        raise ValidationError(f"edit needs a terminal; use `{instead}` instead")


async def edited_text(run: Run, text: str, editor: str | None, *, extension: str, instead: str) -> str | None:
    """The text after the editor has ended; None if it was left as it was. `instead` works without a terminal."""
    check_terminal(instead)
    chosen = editor or (await run.catalog()).editor or None
    try:
        found = click.edit(text, editor=chosen, extension=extension)
    except click.ClickException as error:
        raise ValidationError(f"the editor failed: {error.format_message()}") from error
    return None if found is None or found == text else found
