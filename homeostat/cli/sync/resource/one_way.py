"""`create` and `update`: one request for each resource, without a comparison."""

from __future__ import annotations

from typing import Literal

import click

from homeostat.cli.sync.console.output import finish
from homeostat.cli.sync.console.payloads import read_input
from homeostat.cli.sync.console.run import Run, chosen_target, path_arguments, sync_command
from homeostat.cli.sync.console.scope import chosen_paths
from homeostat.cli.sync.repository.commits import refresh_files
from homeostat.operators.sync.engine.errors import SyncError, ValidationError, of
from homeostat.operators.sync.engine.paths.logical import Target
from homeostat.operators.sync.engine.payload.codec import Payload
from homeostat.operators.sync.session.apply import Outcome, levels, together
from homeostat.operators.sync.session.desired import desired
from homeostat.operators.sync.session.remote import Remote, observe
from homeostat.operators.sync.session.session import Session
from homeostat.operators.sync.session.write import create, update


def one_way(operation: Literal["create", "update"]) -> click.Command:
    """The command of an operation."""

    @click.command(operation, short_help=f"{operation.capitalize()} objects on the server, without comparing.")
    @path_arguments
    @click.option("-r", "--recursive", is_flag=True, help="All resources below the path.")
    @click.option("--refresh", is_flag=True, help="Save what the server made of it into the repository.")
    @click.option("-f", "--payload", default=None, help="Send this payload instead of the repository's.")
    @click.option("--content-type", "form", default="", help="The format of the payload.")
    @click.option("--http-method", "method", default="", help="Use this method.")
    @sync_command(changes=True)
    async def command(
        run: Run,
        path: str | None,
        path_option: str | None,
        recursive: bool,
        refresh: bool,
        payload: str | None,
        form: str,
        method: str,
    ) -> None:
        target = chosen_target(path, path_option)
        options = {"recursive": recursive, "refresh": refresh}
        await _send_all(run, target, operation=operation, payload=payload, form=form, method=method, **options)

    command.help = (
        f"{operation.capitalize()} what the repository declares; the server's objects are not compared.\n\n"
        f"\b\nExamples:\n  homeostat sync resource {operation} /customers/acme"
    )
    return command


async def _send_all(
    run: Run,
    target: Target,
    *,
    operation: str,
    recursive: bool,
    refresh: bool,
    payload: str | None,
    form: str,
    method: str,
) -> None:
    if payload is not None and recursive:
        raise ValidationError("-f sends one payload; it cannot be combined with -r")
    given = await read_input(payload, form) if payload is not None else None
    async with run.session(target.path, is_recursive=recursive) as session:
        paths = chosen_paths(session, target, given, is_recursive=recursive)

        async def one(path: str) -> Outcome:
            try:
                return await _send(session, path, operation, given, method)
            except SyncError as error:
                return Outcome(path, error=of(path, error))

        outcomes = [each for level in levels(paths) for each in await together(one, level)]
        if refresh:
            await refresh_files(session, [each.path for each in outcomes if each.error is None])
        finish(run, outcomes)


async def _send(session: Session, path: str, operation: str, given: Payload | None, method: str) -> Outcome:
    wanted = await desired(session, path, given)
    if operation == "create":
        return Outcome(path, "created", await create(session, wanted, method=method))
    remote = Remote(id=wanted.id, alias=wanted.alias) if wanted.id else await observe(session, wanted)
    return Outcome(path, "updated", await update(session, wanted, remote, method=method))
