"""`homeostat sync resource defaults profile delete`: deletes one profile."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.run import Run, chosen_pair, path_and_word, sync_command
from homeostat.cli.sync.defaults.block import Block
from homeostat.cli.sync.metadata.address import chosen_selector, document_session
from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.metadata.document import included


@click.command("delete", short_help="Delete a profile.")
@path_and_word("PROFILE")
@sync_command(changes=True)
async def command(run: Run, words: tuple[str, ...], path_option: str | None) -> None:
    """Delete a profile from the document, and its file. One that is in use is refused.

    \b
    Examples:
      homeostat sync resource defaults profile delete /customers/ big
    """
    path, name = chosen_pair(words, path_option, "profile")
    selector = chosen_selector(path, None)
    async with document_session(run, selector) as session:
        block = Block(session, selector)
        item, defaults = block.profile(name), block.defaults
        if name in defaults.get("useProfiles", []):
            raise ValidationError(f'profile "{name}" is in use; remove it from useProfiles first')
        left = {key: value for key, value in defaults["profiles"].items() if key != name}
        rest = {key: value for key, value in defaults.items() if key != "profiles"}
        files = block.with_defaults({**rest, "profiles": left} if left else rest)
        if isinstance(item, str) and (file := included(item)) is not None:
            files[f"{selector.directory}/{file}"] = None
        await block.write(files)
