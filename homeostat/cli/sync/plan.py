"""`homeostat sync plan`: what a sync would do, without doing it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from homeostat.cli.console.progress import progress
from homeostat.cli.sync.console.flags import COMPARE, RECURSIVE, deletion_limits
from homeostat.cli.sync.console.output import is_text, print_value
from homeostat.cli.sync.console.plans import markdown, text_lines
from homeostat.cli.sync.console.records import read_record
from homeostat.cli.sync.console.run import Run, chosen_target, path_arguments, sync_command
from homeostat.external.files import replace_file
from homeostat.operators.sync.engine.errors import NotFoundError, of_kind
from homeostat.operators.sync.engine.paths.selector import parse_selector
from homeostat.operators.sync.engine.plan.changes import full_plan
from homeostat.operators.sync.run.options import VERBS, SyncOptions, Verb
from homeostat.operators.sync.run.plan import SyncPlan, encode_plan
from homeostat.operators.sync.run.prepare import Prepared, declared_paths, make_plan
from homeostat.operators.sync.run.record import Record
from homeostat.operators.sync.session.session import Session

DRIFTED: Final = 7
"""The exit code of a plan that would change something."""
_WORTH: Final = 200
"""Resources from which on a bar shows the progress."""


@click.command("plan", short_help="Show what a sync would do.")
@path_arguments
@RECURSIVE
@click.option("--prune", is_flag=True, help="Delete objects that are ours and no longer declared.")
@click.option("--force", is_flag=True, help="Update even what is equal.")
@COMPARE
@click.option(
    "--adopt",
    type=click.Choice(["none", "declared"]),
    default="none",
    help="Which existing objects become ours, so that they may be pruned later.  [default: none]",
)
@deletion_limits
@click.option(
    "--verb",
    "verbs",
    type=click.Choice(VERBS),
    multiple=True,
    help="Allow only this; what else would be done is shown as held. Repeatable.  [default: all]",
)
@click.option("--allow-windows", default="", help='Hold changes at other times than "daily 22:00-06:00 Europe/Berlin".')
@click.option("--deny-windows", default="", help='Hold changes at times like "Fri 16:00-Mon 08:00".')
@click.option("--out", type=click.Path(dir_okay=False), default=None, help="Save the plan for apply-plan.")
@click.option("-o", "--output", "form", type=click.Choice(["auto", "text", "json", "yaml", "markdown"]), default="auto")
@sync_command()
async def command(
    run: Run,
    /,
    path: str | None,
    path_option: str | None,
    recursive: bool,
    out: str | None,
    form: str,
    protect: tuple[str, ...],
    verbs: tuple[Verb, ...],
    **options: Any,
) -> None:
    """Compare the repository with the server and show what a sync would create, update and delete. Nothing is changed.

    \b
    Exit codes: 0 all is equal, 7 something differs, 6 the server cannot be reached or failed; see also
    homeostat sync --help.

    \b
    Examples:
      homeostat sync plan /customers -r
      homeostat sync plan /customers -r --prune --out plan.json
      homeostat sync plan / -r -o markdown
      homeostat sync plan /customers -r --verb create --deny-windows "Fri 16:00-Mon 08:00"
    """
    target = chosen_target(path, path_option)
    run.settings = replace(run.settings, output=form if form not in ("auto", "markdown") else run.settings.output)
    async with run.session(target.path, is_recursive=recursive) as session:
        chosen = SyncOptions(protect=checked_patterns(protect), verbs=verbs or VERBS, **options)
        plan = (await planned(run, session, target.path, chosen, is_recursive=recursive)).plan
        if not plan.steps:
            raise NotFoundError(f"no local resources found under {target.path}, and no objects that are ours")
        if out is not None:
            await asyncio.to_thread(replace_file, Path(out), encode_plan(plan), mode=0o600)
        if form == "markdown":
            click.echo(markdown(plan))
        else:
            show(run, plan)
        check(plan)


def checked_patterns(patterns: Sequence[str]) -> tuple[str, ...]:
    """`ValidationError` for one that could never match, and so would protect nothing."""
    return tuple(parse_selector(each).text for each in patterns)


async def planned(
    run: Run, session: Session, source: str, options: SyncOptions, *, is_recursive: bool, record: Record | None = None
) -> Prepared:
    """The plan of a command, with a bar where it takes long."""
    scope = full_plan(source, "a command compares everything", is_recursive=is_recursive)
    record = record if record is not None else await read_record(run, session)
    with progress("Comparing", len(declared_paths(session, scope)), worth=_WORTH) as advance:
        return await make_plan(
            session, scope, options, record, source=source, now=datetime.now(UTC), advance=advance
        )  # fmt: skip


def show(run: Run, plan: SyncPlan) -> None:
    if is_text(run):
        for line in text_lines(plan):
            click.echo(line)
    else:
        print_value(run, msgspec.to_builtins(plan))


def check(plan: SyncPlan) -> None:
    """Ends the command with the code of the first error, or of a difference."""
    if unknown := plan.unknown:
        worst = next((each for each in unknown if each.kind == "Transport"), unknown[0])
        more = f"{len(unknown)} of {len(plan.steps)} resources are unknown: " if len(unknown) > 1 else ""
        raise of_kind(worst.kind, f"{more}{worst.error}")
    if plan.drifted:
        raise click.exceptions.Exit(DRIFTED)
