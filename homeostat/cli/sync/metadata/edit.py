"""`homeostat sync resource metadata edit`: the document of a path in an editor."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.editor import EDITOR, edited_text
from homeostat.cli.sync.console.run import Run, path_arguments, sync_command
from homeostat.cli.sync.metadata.address import chosen_selector, document_session
from homeostat.cli.sync.repository.commits import commit_files
from homeostat.operators.sync.engine.metadata.document import read_document
from homeostat.operators.sync.engine.metadata.layers import stored_document
from homeostat.operators.sync.engine.payload import yaml
from homeostat.operators.sync.session.save import document_files


@click.command("edit", short_help="Edit the document of a path.")
@path_arguments
@EDITOR
@sync_command(changes=True)
async def command(run: Run, path: str | None, path_option: str | None, editor: str | None) -> None:
    """Open the document in an editor, and write it when the editor ends. An invalid one is refused.

    \b
    Examples:
      homeostat sync resource metadata edit /customers/
    """
    selector = chosen_selector(path, path_option)
    async with document_session(run, selector) as session:
        text = yaml.dump(stored_document(session.root, selector) or {}, is_sorted=False).decode()
        edited = await edited_text(run, text, editor, extension=".yaml", instead="resource metadata set -f")
        if edited is None:
            return
        document = read_document(yaml.load(edited.encode()), is_collection=selector.is_collection)
        files = document_files(session, selector, document)
        await session.files.write(files)
        await commit_files(session, f"declarest: set metadata {selector.text}", list(files))
