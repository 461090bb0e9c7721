"""`homeostat sync resource defaults edit`: the defaults of an address in an editor."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.editor import EDITOR
from homeostat.cli.sync.console.run import Run, path_arguments, sync_command
from homeostat.cli.sync.defaults.block import Block, edit_object
from homeostat.cli.sync.metadata.address import chosen_selector, document_session


@click.command("edit", short_help="Edit the defaults of a path.")
@path_arguments
@EDITOR
@sync_command(changes=True)
async def command(run: Run, path: str | None, path_option: str | None, editor: str | None) -> None:
    """Open the values in an editor, and write them when the editor ends: into their file, or into the document.

    \b
    Examples:
      homeostat sync resource defaults edit /customers/
    """
    selector = chosen_selector(path, path_option)
    async with document_session(run, selector) as session:
        block = Block(session, selector)
        item = block.defaults.get("value")
        values = await edit_object(run, block.values(item), editor)
        if values is not None:
            await block.write(block.with_entry(item, values, {**block.defaults, "value": values}))
