"""`homeostat sync resource defaults config edit`: the defaults block in an editor."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.editor import EDITOR
from homeostat.cli.sync.console.run import Run, path_arguments, sync_command
from homeostat.cli.sync.defaults.block import Block, edit_object
from homeostat.cli.sync.metadata.address import chosen_selector, document_session


@click.command("edit", short_help="Edit the defaults block of the metadata.")
@path_arguments
@EDITOR
@sync_command(changes=True)
async def command(run: Run, path: str | None, path_option: str | None, editor: str | None) -> None:
    """Open the defaults block of the document in an editor: mode, value, profiles and which of them are used.

    \b
    Examples:
      homeostat sync resource defaults config edit /customers/
    """
    selector = chosen_selector(path, path_option)
    async with document_session(run, selector) as session:
        block = Block(session, selector)
        changed = await edit_object(run, block.defaults, editor)
        if changed is not None:
            await block.write(block.with_defaults(changed))
