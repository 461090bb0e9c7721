"""`homeostat resource show`: describes a resource."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Iterable

import click

from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.failure import one_line
from homeostat.cli.console.output import is_table, output_option, print_object, without_managed_fields
from homeostat.cli.console.table import Table
from homeostat.cli.objects.kinds import with_type_meta
from homeostat.cli.resource.complete import complete_resources
from homeostat.cli.resource.credentials import shown_value
from homeostat.cli.resource.kinds import named_resources
from homeostat.cli.resource.state import changes_text, next_run, run_url, status_of
from homeostat.client.passwords import without_passwords
from homeostat.objects import yaml
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.time.age import epoch_of, human_duration
from homeostat.operators.actions.api import ResourceStatus
from homeostat.operators.actions.conditions import current_message
from homeostat.operators.actions.runs.run import Run


@click.command(short_help="Describe a resource: declaration, state, run, outputs.")
@click.argument("words", nargs=-1, required=True, metavar="TYPE/NAME", shell_complete=complete_resources)
@output_option
@connected
async def command(connection: Connection, words: tuple[str, ...], output: str) -> None:
    """Print a resource: its spec, its plugin, its conditions, the current run, its outputs, and the time of its next
    reconciliation.

    \b
    Examples:
      homeostat resource show databasecluster/orders
      homeostat resource show DatabaseCluster orders -o yaml
    """
    targets = await named_resources(connection.client, words)
    for at, (kind, name) in enumerate(targets):
        found = with_type_meta(kind, await connection.client.get(kind.path(connection.namespace, name)))
        (obj,) = await without_passwords(connection.client, [found])
        if not is_table(output):
            print_object(without_managed_fields(obj), output, is_first=not at)
            continue
        if at:
            click.echo("\n")
        _print(obj, time.time())


def _print(obj: JsonObject, now: float) -> None:
    status = status_of(obj)
    _print_facts(_facts(obj, status, now))
    _print_section("Spec", obj.get("spec"))
    _print_section("Action", shown_value("action", obj.get("action")))
    if status.run is not None:
        click.echo("Run:")
        _print_facts(_run_facts(status.run, now), indent=2)
    _print_section("Outputs", status.outputs)
    if status.conditions:
        click.echo("Conditions:")
        rows = [
            [each.type, each.status, each.reason, _ago(each.last_transition_time, now), each.message]
            for each in status.conditions
        ]
        Table(("TYPE", "STATUS", "REASON", "SINCE", "MESSAGE"), indent=2).print(rows)


def _facts(obj: JsonObject, status: ResourceStatus, now: float) -> Iterable[tuple[str, str]]:
    metadata = obj["metadata"]
    deleted = metadata.get("deletionTimestamp")
    yield "Name", metadata["name"]
    yield "Namespace", metadata["namespace"]
    yield "Type", f"{obj['kind']} ({obj['apiVersion']})"
    yield "Phase", status.phase
    yield "Message", current_message(status)
    yield "Generation", f"{metadata['generation']}, reconciled: {status.reconciled_generation}"
    yield "Retries", str(status.retries or "")
    yield "Last run", f"{_ago(status.last_run, now)} ago" if status.last_run else ""
    yield "Next run", "after the current run" if status.run is not None else next_run(obj, status, now)
    yield "Created", f"{_ago(metadata.get('creationTimestamp'), now)} ago"
    yield (
        "Deleted",
        f"{_ago(deleted, now)} ago, held by: {', '.join(metadata.get('finalizers') or ())}" if deleted else "",
    )


def _run_facts(run: Run, now: float) -> Iterable[tuple[str, str]]:
    outcome = run.outcome
    yield "To", run.purpose
    yield "Because", f"{run.trigger}{', drift was found' if run.is_drift else ''}"
    yield "Since", f"{run.began} ({_ago(run.began, now)})"
    yield "Ticket", run.ticket
    yield "URL", run_url(run)
    yield "Changes", changes_text(run.changes) if run.purpose == "apply" else ""
    yield "Plan", run.plan
    yield "Outcome", (outcome.message or ("success" if outcome.is_success else outcome.reason)) if outcome else ""


def _print_facts(facts: Iterable[tuple[str, str]], indent: int = 0) -> None:
    for heading, text in facts:
        if text:
            click.echo(f"{' ' * indent}{heading + ':':<14}{one_line(text)}")


def _print_section(heading: str, value: Json) -> None:
    if value:
        click.echo(f"{heading}:")
        click.echo(textwrap.indent(yaml.dump(value).decode(), "  "), nl=False)


def _ago(timestamp: str | None, now: float) -> str:
    at = epoch_of(timestamp)
    return human_duration(max(now - at, 0)) if at is not None else "?"
