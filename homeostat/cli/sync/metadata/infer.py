"""`homeostat sync resource metadata infer`: metadata from the OpenAPI document."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.output import print_value
from homeostat.cli.sync.console.run import Run, path_arguments, sync_command
from homeostat.cli.sync.metadata.address import chosen_selector, document_session
from homeostat.cli.sync.repository.commits import commit_files
from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.openapi.infer import infer
from homeostat.operators.sync.session.save import metadata_files


@click.command("infer", short_help="Infer metadata from the OpenAPI document.")
@path_arguments
@click.option("-a", "--apply", "applies", is_flag=True, help="Write the result into the repository.")
@click.option("-r", "--recursive", is_flag=True, hidden=True)
@sync_command()
async def command(run: Run, path: str | None, path_option: str | None, applies: bool, recursive: bool) -> None:
    """Print identity, format and secrets of a collection, as the OpenAPI document suggests them.

    \b
    Examples:
      homeostat sync resource metadata infer /customers/ --apply
    """
    selector = chosen_selector(path, path_option)
    if recursive:
        raise ValidationError("infer works on one collection; -r is not supported")
    async with document_session(run, selector) as session:
        if session.openapi is None:
            raise ValidationError("infer needs an OpenAPI document; set managedService.http.openapi in the context")
        found = infer(session.openapi, selector)
        if applies and found:
            files = metadata_files(session, selector, found)
            await session.files.write(files)
            await commit_files(session, f"declarest: infer metadata {selector.text}", list(files))
        print_value(run, found)
