"""`homeostat sync resource delete`: deletes resources on the server, in the repository, or in both."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.flags import HTTP_METHOD, MESSAGE, RECURSIVE
from homeostat.cli.sync.console.output import finish
from homeostat.cli.sync.console.run import Run, chosen_target, path_arguments, sync_command
from homeostat.cli.sync.console.scope import local_paths
from homeostat.cli.sync.repository.commits import commit_files, commit_message
from homeostat.operators.sync.engine.errors import NotFoundError, ValidationError
from homeostat.operators.sync.engine.paths.logical import Target, segments
from homeostat.operators.sync.engine.tree.layout import payload_file
from homeostat.operators.sync.session.remove import remove
from homeostat.operators.sync.session.session import Session

_SOURCES = ("managed-service", "repository", "both")


@click.command("delete", short_help="Delete resources.")
@path_arguments
@click.option("-y", "--yes", is_flag=True, help="Confirm the deletion. It is mandatory.")
@RECURSIVE
@click.option("--source", type=click.Choice(_SOURCES), default="managed-service", help="Where to delete.")
@HTTP_METHOD
@MESSAGE
@sync_command(changes=True)
async def command(
    run: Run,
    path: str | None,
    path_option: str | None,
    yes: bool,
    recursive: bool,
    source: str,
    http_method: str,
    message: str,
) -> None:
    """Delete a resource, or those of a collection that the repository has. What only the server has stays.

    \b
    Examples:
      homeostat sync resource delete /customers/acme --yes
      homeostat sync resource delete /customers -r --source both --yes
    """
    target = chosen_target(path, path_option)
    if not yes:
        raise ValidationError("delete needs --yes")
    async with run.session(target.path, is_recursive=recursive) as session:
        paths = _paths(session, target, is_recursive=recursive, needs_files=source != "managed-service")
        outcomes = await remove(session, paths, method=http_method) if source != "repository" else []
        if len(paths) > 1:
            # What is gone already needs no deletion.
            outcomes = [each for each in outcomes if not isinstance(each.error, NotFoundError)]
        failed = {each.path for each in outcomes if each.error is not None}
        if source != "managed-service":
            await _delete_files(session, [each for each in paths if each not in failed], message)
        finish(run, outcomes, target.path)


def _paths(session: Session, target: Target, *, is_recursive: bool, needs_files: bool) -> list[str]:
    try:
        return local_paths(session, target, is_recursive=is_recursive)
    except NotFoundError:
        if needs_files or target.is_collection or is_recursive:
            raise
        return [target.path]


async def _delete_files(session: Session, paths: list[str], message: str) -> None:
    for path in paths:
        directory = session.root.at(segments(path))
        name = payload_file(directory.files) if directory is not None else None
        if name is not None:
            file = f"{path[1:]}/{name}"
            await session.files.write({file: None})
            await commit_files(session, commit_message(f"declarest: delete resource {path}", message), [file])
