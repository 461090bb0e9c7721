"""`homeostat sync bundle list`: the bundles that come with Homeostat."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.output import is_text, print_value
from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.edge.proxies import Proxies
from homeostat.operators.sync.context.bundle import fetch_bundle, shipped


@click.command("list", short_help="List the bundles that come with Homeostat.")
@sync_command()
async def command(run: Run) -> None:
    """List the bundles that need no download; others are used by their address.

    \b
    Examples:
      homeostat sync bundle list -o text
    """
    found = [(await fetch_bundle(each, Proxies())).manifest for each in shipped()]
    if is_text(run):
        for each in found:
            click.echo(f"{each['name']} {each['version']}  {each.get('description', '')}")
    else:
        print_value(run, found)
