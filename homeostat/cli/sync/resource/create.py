"""`homeostat sync resource create` and `update`: one request for each resource, without a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import click

from homeostat.cli.sync.console.flags import CONTENT_TYPE, HTTP_METHOD, PAYLOAD, RECURSIVE, REFRESH
from homeostat.cli.sync.console.output import finish
from homeostat.cli.sync.console.payloads import read_input
from homeostat.cli.sync.console.run import Run, chosen_target, path_arguments, sync_command
from homeostat.cli.sync.console.scope import chosen_paths
from homeostat.cli.sync.repository.commits import refresh_files
from homeostat.edge.turn import map_concurrently
from homeostat.operators.sync.engine.errors import SyncError, ValidationError, of
from homeostat.operators.sync.engine.payload.codec import Payload
from homeostat.operators.sync.session.apply import Outcome, levels
from homeostat.operators.sync.session.desired import desired
from homeostat.operators.sync.session.remote import Remote, observe
from homeostat.operators.sync.session.session import Session
from homeostat.operators.sync.session.write import create, update


def one_way(operation: Literal["create", "update"]) -> click.Command:
    """The command of an operation."""

    @click.command(operation, short_help=f"{operation.capitalize()} objects on the server, without comparing.")
    @path_arguments
    @RECURSIVE
    @REFRESH
    @PAYLOAD
    @CONTENT_TYPE
    @HTTP_METHOD
    @sync_command(changes=True)
    async def command(
        run: Run,
        path: str | None,
        path_option: str | None,
        recursive: bool,
        refresh: bool,
        payload: str | None,
        content_type: str,
        http_method: str,
    ) -> None:
        target = chosen_target(path, path_option)
        if payload is not None and recursive:
            raise ValidationError("-f sends one payload; it cannot be combined with -r")
        given = await read_input(payload, content_type) if payload is not None else None
        async with run.session(target.path, is_recursive=recursive) as session:
            paths = chosen_paths(session, target, given, is_recursive=recursive)
            outcomes = await _send_all(session, paths, operation, given, http_method)
            if refresh:
                await refresh_files(session, [each.path for each in outcomes if each.error is None])
            finish(run, outcomes, target.path if given is None else paths[0])

    command.help = (
        f"{operation.capitalize()} what the repository declares; the server's objects are not compared.\n\n"
        f"\b\nExamples:\n  homeostat sync resource {operation} /customers/acme"
    )
    return command


async def _send_all(
    session: Session, paths: Sequence[str], operation: str, given: Payload | None, method: str
) -> list[Outcome]:
    async def one(path: str) -> Outcome:
        try:
            return await _send(session, path, operation, given, method)
        except SyncError as error:
            return Outcome(path, error=of(path, error))

    most = session.concurrency
    return [each for level in levels(paths) for each in await map_concurrently(one, level, at_once=most)]


async def _send(session: Session, path: str, operation: str, given: Payload | None, method: str) -> Outcome:
    wanted = await desired(session, path, given)
    if operation == "create":
        return Outcome(path, "created", await create(session, wanted, method=method))
    remote = Remote(id=wanted.id, alias=wanted.alias) if wanted.id else await observe(session, wanted)
    return Outcome(path, "updated", await update(session, wanted, remote, method=method))


command = one_way("create")
updating = one_way("update")
