"""`homeostat sync resource defaults profile edit`: one profile in an editor."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.editor import EDITOR
from homeostat.cli.sync.console.run import Run, chosen_pair, path_and_word, sync_command
from homeostat.cli.sync.defaults.block import Block, edit_object
from homeostat.cli.sync.metadata.address import chosen_selector, document_session


@click.command("edit", short_help="Edit a profile.")
@path_and_word("PROFILE")
@EDITOR
@sync_command(changes=True)
async def command(run: Run, words: tuple[str, ...], path_option: str | None, editor: str | None) -> None:
    """Open the values of a profile in an editor. One that does not exist is added.

    \b
    Examples:
      homeostat sync resource defaults profile edit /customers/ big
    """
    path, name = chosen_pair(words, path_option, "profile")
    selector = chosen_selector(path, None)
    async with document_session(run, selector) as session:
        block = Block(session, selector)
        profiles = block.defaults.get("profiles", {})
        item = profiles.get(name)
        values = await edit_object(run, block.values(item), editor)
        if values is not None:
            changed = {**block.defaults, "profiles": {**profiles, name: values}}
            await block.write(block.with_entry(item, values, changed))
