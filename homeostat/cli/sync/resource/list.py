"""`homeostat sync resource list`: the resources of a collection."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.flags import EXCLUDE, HTTP_METHOD, RECURSIVE, SOURCE
from homeostat.cli.sync.console.output import is_text, print_value
from homeostat.cli.sync.console.run import Run, chosen_target, path_arguments, sync_command
from homeostat.cli.sync.console.scope import collection_items, excluded, listed
from homeostat.objects.json import Json
from homeostat.operators.sync.engine.lists.items import identity_of
from homeostat.operators.sync.engine.paths.logical import Target, name
from homeostat.operators.sync.engine.payload.codec import wrapped
from homeostat.operators.sync.session.desired import hidden_value, local_payload
from homeostat.operators.sync.session.session import Session


@click.command("list", short_help="List the resources of a collection.")
@path_arguments
@RECURSIVE
@SOURCE
@EXCLUDE
@HTTP_METHOD
@sync_command()
async def command(
    run: Run,
    path: str | None,
    path_option: str | None,
    recursive: bool,
    source: str,
    exclude: str | None,
    http_method: str,
) -> None:
    """List resources: as JSON, or as text with alias and id.

    \b
    Examples:
      homeostat sync resource list /customers -o text
      homeostat sync resource list / -r --source repository
    """
    target = chosen_target(path, path_option)
    is_local = source == "repository"
    async with run.session(target.path, is_recursive=recursive, connects=not is_local) as session:
        if is_local:
            found = _local(session, target, is_recursive=recursive)
        else:
            found = [
                (each.alias, each.id, hidden_value(session, each.path, each.value))
                for each in await collection_items(session, target.path, method=http_method)
            ]
        kept = [each for each in found if not {each[0], each[1]} & excluded(exclude)]
        if is_text(run):
            width = max((len(alias) for alias, _, _ in kept), default=0)
            click.echo("".join(f"{alias.ljust(width)} ({identity})\n" for alias, identity, _ in kept), nl=False)
        else:
            print_value(run, [value for _, _, value in kept])


def _local(session: Session, target: Target, *, is_recursive: bool) -> list[tuple[str, str, Json]]:
    found = list[tuple[str, str, Json]]()
    for each in listed(session, target, is_recursive=is_recursive):
        payload = local_payload(session, each)
        if payload is None:
            continue
        alias, identity = "", ""
        if isinstance(payload.value, dict):
            alias, identity = identity_of(session.metadata.rules(each), payload.value)
        found.append((alias or name(each), identity or name(each), hidden_value(session, each, wrapped(payload))))
    return found
