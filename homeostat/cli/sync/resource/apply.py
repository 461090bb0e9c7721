"""`homeostat sync resource apply`: makes the server equal to the repository."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.flags import COMPARE, CONTENT_TYPE, HTTP_METHOD, PAYLOAD, RECURSIVE, REFRESH
from homeostat.cli.sync.console.output import finish
from homeostat.cli.sync.console.payloads import read_input
from homeostat.cli.sync.console.records import note_created
from homeostat.cli.sync.console.run import Run, chosen_target, path_arguments, sync_command
from homeostat.cli.sync.console.scope import chosen_paths
from homeostat.cli.sync.repository.commits import refresh_files
from homeostat.operators.sync.engine.compare.difference import Mode
from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.session.apply import apply


@click.command("apply", short_help="Make the server equal to the repository.")
@path_arguments
@RECURSIVE
@click.option("--force", is_flag=True, help="Update even what is equal.")
@REFRESH
@PAYLOAD
@CONTENT_TYPE
@HTTP_METHOD
@COMPARE
@sync_command(changes=True)
async def command(
    run: Run,
    path: str | None,
    path_option: str | None,
    recursive: bool,
    force: bool,
    refresh: bool,
    payload: str | None,
    content_type: str,
    http_method: str,
    compare: Mode,
) -> None:
    """Create what is missing on the server and update what differs; what is equal causes no request that writes.

    \b
    Examples:
      homeostat sync resource apply /customers/acme
      homeostat sync resource apply /customers -r
    """
    target = chosen_target(path, path_option)
    if payload is not None and recursive:
        raise ValidationError("-f applies one payload; it cannot be combined with -r")
    given = await read_input(payload, content_type) if payload is not None else None
    async with run.session(target.path, is_recursive=recursive) as session:
        paths = chosen_paths(session, target, given, is_recursive=recursive)
        describes = run.settings.verbosity > 0
        outcomes = await apply(
            session, paths, force=force, method=http_method, given=given, mode=compare, describes=describes
        )
        await note_created(run, session, outcomes)
        if refresh:
            await refresh_files(session, [each.path for each in outcomes if each.error is None])
        finish(run, outcomes, target.path if given is None else paths[0])
