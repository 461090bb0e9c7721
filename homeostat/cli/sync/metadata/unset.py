"""`homeostat sync resource metadata unset`: deletes the document of a path."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.run import Run, path_arguments, sync_command
from homeostat.cli.sync.metadata.address import chosen_selector, document_session
from homeostat.cli.sync.repository.commits import commit_files
from homeostat.operators.sync.engine.errors import NotFoundError
from homeostat.operators.sync.session.save import document_files


@click.command("unset", short_help="Delete the document of a path.")
@path_arguments
@sync_command(changes=True)
async def command(run: Run, path: str | None, path_option: str | None) -> None:
    """Delete the document of a resource, a collection or a pattern.

    \b
    Examples:
      homeostat sync resource metadata unset /customers/
    """
    selector = chosen_selector(path, path_option)
    async with document_session(run, selector) as session:
        files = document_files(session, selector, None)
        if not files:
            raise NotFoundError(f"{selector.text} has no document of its own")
        await session.files.write(files)
        await commit_files(session, f"declarest: unset metadata {selector.text}", list(files))
