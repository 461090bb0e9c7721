"""`homeostat sync resource metadata set`: writes the document of a path."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.payloads import structured_input
from homeostat.cli.sync.console.run import Run, path_arguments, sync_command
from homeostat.cli.sync.metadata.address import chosen_selector, document_session
from homeostat.cli.sync.repository.commits import commit_files
from homeostat.operators.sync.engine.metadata.document import read_document
from homeostat.operators.sync.session.save import document_files


@click.command("set", short_help="Write the document of a path.")
@path_arguments
@click.option("-f", "--payload", default="-", help="The document: a file, - for standard input, or JSON.")
@sync_command(changes=True)
async def command(run: Run, path: str | None, path_option: str | None, payload: str) -> None:
    """Replace the document of a resource, a collection or a pattern. An invalid one is refused.

    \b
    Examples:
      homeostat sync resource metadata set /customers/ -f metadata.yaml
    """
    selector = chosen_selector(path, path_option)
    document = read_document(await structured_input(payload), is_collection=selector.is_collection)
    async with document_session(run, selector) as session:
        files = document_files(session, selector, document)
        await session.files.write(files)
        await commit_files(session, f"declarest: set metadata {selector.text}", list(files))
