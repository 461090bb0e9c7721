"""`homeostat sync context validate`: checks a context without adding it."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.flags import CONTEXT
from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.cli.sync.context.add import given_context


@click.command("validate", short_help="Check a context without adding it.")
@CONTEXT
@sync_command()
async def command(_: Run, payload: str | None) -> None:
    """Check a context without adding it.

    \b
    Examples:
      homeostat sync context validate -f context.yaml
    """
    found = (await given_context(payload))[0]
    click.echo(f'context "{found["name"]}" is valid', err=True)
