"""`homeostat sync resource diff`: what differs between the repository and the server."""

from __future__ import annotations

import sys

import click

from homeostat.cli.console.colour import paint
from homeostat.cli.sync.console.flags import COMPARE, RECURSIVE
from homeostat.cli.sync.console.output import print_value, raise_first, scrubbed
from homeostat.cli.sync.console.run import Run, chosen_target, path_arguments, sync_command
from homeostat.cli.sync.console.scope import local_paths
from homeostat.operators.sync.engine.compare.difference import Mode, hide_at
from homeostat.operators.sync.engine.compare.text import declared_part, state_of, summary, unified
from homeostat.operators.sync.engine.errors import SyncError
from homeostat.operators.sync.engine.payload.pointer import MISSING
from homeostat.operators.sync.session.apply import Compared, compare_all, shown

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


@click.command("diff", short_help="Show what differs between the repository and the server.")
@path_arguments
@RECURSIVE
@click.option("--list", "names_only", is_flag=True, help="Print only the paths of resources that differ.")
@COMPARE
@sync_command()
async def command(
    run: Run, path: str | None, path_option: str | None, recursive: bool, names_only: bool, compare: Mode
) -> None:
    """Compare resources with the server's objects, and print a unified diff of each that differs. Secrets are hidden.

    \b
    Examples:
      homeostat sync resource diff /customers/acme
      homeostat sync resource diff /customers -r --list
    """
    target = chosen_target(path, path_option)
    async with run.session(target.path, is_recursive=recursive) as session:
        found = await compare_all(session, local_paths(session, target, is_recursive=recursive), compare)
        compared = [each for each in found if isinstance(each, Compared)]
        if run.settings.output in ("json", "yaml"):
            print_value(run, [scrubbed(run, entry.entry) for each in compared for entry in shown(each)])
        else:
            _print(run, compared, compare, names_only=names_only, is_complete=len(compared) == len(found))
        raise_first([each for each in found if isinstance(each, SyncError)], len(found))


def _print(run: Run, compared: list[Compared], compare: Mode, *, names_only: bool, is_complete: bool) -> None:
    differing = [each for each in compared if each.found]
    states = [state_of(each.found) for each in differing]
    if not differing:
        if is_complete:
            click.echo("No differences found.")
        return
    for each, state in zip(differing, states, strict=True):
        click.echo(paint(f"{each.wanted.path} [{state}]", "bold", sys.stdout))
        if not names_only:
            local, remote = each.local_view, each.remote_view
            remote = declared_part(remote, local) if compare == "declared" else remote
            for at in each.wanted.secrets:
                local = hide_at(local, at)
                remote = hide_at(remote, at) if remote is not MISSING else remote
            for line in unified(local, remote):
                click.echo(paint(run.scrubber.scrub(line), _COLOURS.get(line[:1], ""), sys.stdout))
            for difference in shown(each):
                click.echo(f"{difference.operation} {difference.path or '/'}")
    click.echo(summary(states))
