"""`homeostat label`: sets and removes labels of objects."""

from __future__ import annotations

import click

from homeostat.cli.completion.words import complete_targets
from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.objects.patch.metadata import change_metadata


@click.command(short_help="Set or remove labels of objects.")
@click.argument("words", nargs=-1, required=True, metavar="KIND NAME... KEY=VALUE...", shell_complete=complete_targets)
@click.option("--overwrite", "may_overwrite", is_flag=True, help="Replace existing values.")
@connected
async def command(connection: Connection, words: tuple[str, ...], may_overwrite: bool) -> None:
    """Set labels of objects, or remove them with KEY-.

    \b
    Examples:
      homeostat label ns shop team=checkout
      homeostat label deploy/web svc/web tier=front --overwrite
      homeostat label ns shop team-
    """
    await change_metadata(connection, words, "labels", may_overwrite=may_overwrite)
