"""`homeostat sync repository status`: uncommitted changes, and the state beside the remote."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.output import print_value
from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.cli.sync.repository.commits import working_tree


@click.command("status", short_help="Show uncommitted changes and the state beside the remote.")
@sync_command()
async def command(run: Run) -> None:
    """Show whether files were changed, and whether the branch is ahead of the remote's or behind it.

    \b
    Examples:
      homeostat sync repository status
    """
    async with run.session(connects=False) as session:
        is_structured = run.settings.output in ("json", "yaml")
        if not session.is_git:
            if is_structured:
                print_value(run, {"state": "not_applicable", "ahead": 0, "behind": 0, "hasUncommitted": False})
            else:
                click.echo("type=filesystem sync=not_applicable hasUncommitted=false")
            return
        found = await working_tree(session).status()
        if is_structured:
            entry = {"state": found.state, "ahead": found.ahead, "behind": found.behind}
            print_value(run, {**entry, "hasUncommitted": found.has_uncommitted})
            return
        beside = f"ahead={found.ahead} behind={found.behind}" if found.state != "no_remote" else "remote=not_configured"
        click.echo(f"type=git state={found.state} {beside} hasUncommitted={str(found.has_uncommitted).lower()}")
