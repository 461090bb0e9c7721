"""`homeostat sync resource explain`: what apply would change."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.flags import COMPARE
from homeostat.cli.sync.console.output import is_text, print_value, raise_first, scrubbed
from homeostat.cli.sync.console.run import Run, chosen_target, path_arguments, sync_command
from homeostat.cli.sync.console.scope import local_paths
from homeostat.operators.sync.engine.compare.difference import Mode
from homeostat.operators.sync.engine.errors import SyncError
from homeostat.operators.sync.session.apply import Compared, compare_all, shown


@click.command("explain", short_help="Show what apply would change.")
@path_arguments
@COMPARE
@sync_command()
async def command(run: Run, path: str | None, path_option: str | None, compare: Mode) -> None:
    """Print the differences that apply would remove, as entries or as lines. Secrets are hidden.

    \b
    Examples:
      homeostat sync resource explain /customers/acme -o text
    """
    target = chosen_target(path, path_option)
    async with run.session(target.path) as session:
        found = await compare_all(session, local_paths(session, target, is_recursive=False), compare)
        entries = [entry for each in found if isinstance(each, Compared) for entry in shown(each)]
        if is_text(run):
            lines = [f"{each.operation} {each.resource}{each.path}\n" for each in entries]
            click.echo("".join(lines) or "No changes.\n", nl=False)
        else:
            print_value(run, [scrubbed(run, each.entry) for each in entries])
        raise_first([each for each in found if isinstance(each, SyncError)], len(found))
