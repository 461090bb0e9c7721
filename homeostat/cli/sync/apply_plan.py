"""`homeostat sync apply-plan`: carries out a plan that was saved, if nothing has changed since."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec

from homeostat.cli.console.progress import progress
from homeostat.cli.sync.console.output import is_text, print_value
from homeostat.cli.sync.console.plans import report_lines
from homeostat.cli.sync.console.records import read_record, save_record
from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.cli.sync.plan import planned
from homeostat.operators.sync.engine.errors import ConflictError, TransportError, of_kind
from homeostat.operators.sync.repository.files import read_file
from homeostat.operators.sync.run.execute import execute
from homeostat.operators.sync.run.plan import LARGEST, check_same, decode_plan
from homeostat.operators.sync.run.prepare import Prepared
from homeostat.operators.sync.run.record import Record
from homeostat.operators.sync.run.report import Report
from homeostat.operators.sync.session.session import Session


@click.command("apply-plan", short_help="Carry out a saved plan.")
@click.argument("file", type=click.Path(dir_okay=False, exists=True))
@sync_command(changes=True)
async def command(run: Run, file: str) -> None:
    """Compare again, and carry out the plan if files and objects are as they were when it was made.

    If anything differs, nothing is changed, and the command exits with 5.

    \b
    Examples:
      homeostat sync plan /customers -r --out plan.json
      homeostat sync apply-plan plan.json
    """
    data = await asyncio.to_thread(read_file, Path(file), noun="the plan", most=LARGEST)
    plan = decode_plan(data)
    async with run.session(plan.source, is_recursive=plan.is_recursive) as session:
        record = await read_record(run, session)
        prepared = await planned(
            run, session, plan.source, plan.options, is_recursive=plan.is_recursive, record=record
        )  # fmt: skip
        check_same(plan, prepared.plan)
        finish(run, await carried_out(run, session, prepared, record))


async def carried_out(run: Run, session: Session, prepared: Prepared, record: Record) -> Report:
    """The report; the record of the context is saved before the first creation and at the end."""

    base = record

    async def save(kept: Record) -> None:
        nonlocal base
        await save_record(run, session, kept, base=base)
        base = kept

    due = sum(each.is_due for each in prepared.plan.steps)
    with progress("Applying", len(prepared.plan.steps), worth=200 if due > 20 else 10**9) as advance:
        report, kept = await execute(
            session, prepared, record, now=lambda: datetime.now(UTC), save=save, advance=advance
        )  # fmt: skip
    await save(kept)
    return report


def finish(run: Run, report: Report) -> None:
    """Print the report, which holds no secrets; fail if anything failed or was held."""
    if is_text(run):
        for line in report_lines(report):
            click.echo(line)
    else:
        print_value(run, msgspec.to_builtins(report))
    if failed := report.failed:
        more = f"{len(failed)} of {len(report.results)} resources failed: " if len(failed) > 1 else ""
        raise of_kind(failed[0].kind, f"{more}{failed[0].message}")
    if held := report.held:
        raise ConflictError(f"{len(held)} changes were held: {held[0].path}: {held[0].message}")
    if report.health:
        raise TransportError(report.health)
