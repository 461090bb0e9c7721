"""`homeostat sync repository tree`: the tree of directories."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.output import print_text
from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.operators.sync.engine.tree.listing import outline


@click.command("tree", short_help="Print the tree of directories.")
@sync_command()
async def command(run: Run) -> None:
    """Print the directories of the repository, without hidden ones and metadata.

    \b
    Examples:
      homeostat sync repository tree
    """
    print_text(run, "")
    async with run.session("/", is_recursive=True, connects=False) as session:
        print_text(run, "".join(f"{each}\n" for each in outline(session.root)))
