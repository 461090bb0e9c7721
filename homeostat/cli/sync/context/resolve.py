"""`homeostat sync context resolve`: a context with variables of the environment replaced."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.flags import SHOW_SECRETS
from homeostat.cli.sync.console.output import print_value
from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.operators.sync.context.document import expanded, masked, with_settings
from homeostat.operators.sync.context.settings import base_directory


@click.command("resolve", short_help="Print a context with variables replaced.")
@click.argument("name", required=False)
@click.option("--set", "settings", multiple=True, help="A field to replace: NAME=VALUE. Repeatable.")
@SHOW_SECRETS
@sync_command()
async def command(run: Run, name: str | None, settings: tuple[str, ...], show_secrets: bool) -> None:
    """Print a context with variables replaced.

    \b
    Examples:
      homeostat sync context resolve --set managedService.http.url=https://example.com
    """
    found = (await run.catalog()).context(name or run.settings.context)
    given = {key.strip(): value for key, _, value in (each.partition("=") for each in settings)}
    found = expanded(with_settings(found, given), run.environment)
    base = base_directory(found)
    if not found.get("metadata") and base is not None:
        found["metadata"] = {"baseDir": str(base)}
    print_value(run, found if show_secrets else masked(found))
