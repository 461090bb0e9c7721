"""`homeostat annotate`: sets and removes annotations of objects."""

from __future__ import annotations

import click

from homeostat.cli.completion.words import complete_targets
from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.objects.patch.metadata import change_metadata


@click.command(short_help="Set or remove annotations of objects.")
@click.argument("words", nargs=-1, required=True, metavar="KIND NAME... KEY=VALUE...", shell_complete=complete_targets)
@click.option("--overwrite", "may_overwrite", is_flag=True, help="Replace existing values.")
@connected
async def command(connection: Connection, words: tuple[str, ...], may_overwrite: bool) -> None:
    """Set annotations of objects, or remove them with KEY-.

    \b
    Examples:
      homeostat annotate deploy web owner=shop
      homeostat annotate syncpolicy topics -n shop declarest.io/plan-requested-at="$(date)" --overwrite
      homeostat annotate deploy/web owner-
    """
    await change_metadata(connection, words, "annotations", may_overwrite=may_overwrite)
