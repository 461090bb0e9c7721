"""`homeostat sync prune`: deletes objects that these commands created and that are no longer declared."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click
from msgspec.structs import replace as replaced

from homeostat.cli.sync.apply_plan import carried_out, finish
from homeostat.cli.sync.console.flags import deletion_limits
from homeostat.cli.sync.console.records import read_record
from homeostat.cli.sync.console.run import Run, chosen_target, path_arguments, sync_command
from homeostat.cli.sync.plan import DRIFTED, checked_patterns, planned, show
from homeostat.operators.sync.run.options import SyncOptions
from homeostat.operators.sync.run.prepare import Prepared


@click.command("prune", short_help="Delete objects that are ours and no longer declared.")
@path_arguments
@click.option("-y", "--yes", is_flag=True, help="Delete. Without it, the objects are listed.")
@deletion_limits
@click.option("--force", is_flag=True, help="Lift both limits.")
@sync_command(changes=True)
async def command(
    run: Run,
    path: str | None,
    path_option: str | None,
    yes: bool,
    protect: tuple[str, ...],
    max_deletions: int,
    max_deletion_percent: int,
    force: bool,
) -> None:
    """Delete all objects below a path that commands of this user created, or adopted, and that the repository no
    longer declares. Objects of others stay. Without --yes they are listed, and the command exits with 7.

    \b
    Examples:
      homeostat sync prune /customers
      homeostat sync prune /customers --yes
    """
    target = chosen_target(path, path_option)
    limits: dict[str, Any] = {"max_deletions": max_deletions, "max_deletion_percent": max_deletion_percent}
    if force:
        limits = {"max_deletions": 1_000_000, "max_deletion_percent": 100}
    options = SyncOptions(prune=True, verbs=("delete",), protect=checked_patterns(protect), **limits)
    async with run.session(target.path, is_recursive=True) as session:
        record = await read_record(run, session)
        prepared = await planned(run, session, target.path, options, is_recursive=True, record=record)
        prepared = only_deletions(prepared)
        if yes:
            finish(run, await carried_out(run, session, prepared, record))
            return
        show(run, prepared.plan)
        if prepared.plan.drifted:
            raise click.exceptions.Exit(DRIFTED)


def only_deletions(prepared: Prepared) -> Prepared:
    """Without the steps of declared resources."""
    steps = [
        each for each in prepared.plan.steps if each.path not in prepared.facts and each.path not in prepared.errors
    ]
    return replace(prepared, plan=replaced(prepared.plan, steps=tuple(steps)))
