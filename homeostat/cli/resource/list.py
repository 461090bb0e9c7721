"""`homeostat resource list`: lists resources of one type or of all, with their phase."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from typing import Final, get_args

import click

from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.failure import Refusals
from homeostat.cli.console.output import is_table, output_option, print_list, without_managed_fields
from homeostat.cli.console.selection import all_namespaces_option
from homeostat.cli.console.table import Table
from homeostat.cli.objects.kinds import with_type_meta
from homeostat.cli.objects.targets import Target
from homeostat.cli.resource.complete import complete_resources
from homeostat.cli.resource.kinds import resources_of, title_of
from homeostat.cli.resource.state import next_run, status_of
from homeostat.client.base import Client
from homeostat.client.passwords import without_passwords
from homeostat.objects.conditions import READY, find
from homeostat.objects.errors import ForbiddenError
from homeostat.objects.json import JsonObject
from homeostat.objects.time.age import epoch_of, human_duration
from homeostat.operators.actions.api import Phase
from homeostat.operators.actions.conditions import current_message

HEADINGS: Final = ("TYPE", "NAME", "PHASE", "READY", "NEXT", "AGE", "MESSAGE")


@click.command(short_help="List resources of one type or of all.")
@click.argument("words", nargs=-1, metavar="[TYPE [NAME]...]", shell_complete=complete_resources)
@all_namespaces_option
@click.option("-l", "--selector", default="", help="Labels that resources must have: app=web,tier!=db")
@click.option("--phase", type=click.Choice(get_args(Phase)), help="Only those in this phase.")
@output_option
@connected
async def command(
    connection: Connection,
    words: tuple[str, ...],
    all_namespaces: bool,
    selector: str,
    phase: str | None,
    output: str,
) -> None:
    """List resources: their phase, whether they are ready, their next reconciliation, and the last message.

    \b
    Examples:
      homeostat resource list
      homeostat resource list DatabaseCluster -A --phase failed
      homeostat resource list -o name
    """
    targets = await resources_of(connection.client, words)
    namespace = "" if all_namespaces else connection.namespace
    refusals = Refusals()

    async def fetch(target: Target) -> list[JsonObject]:
        """Without a TYPE, one that the user is not allowed to list does not keep the others from being listed."""
        try:
            return await _objects(connection.client, target, namespace, selector)
        except ForbiddenError as error:
            if words:
                raise
            refusals.add(error.message)
            return []

    lists = await asyncio.gather(*map(fetch, targets))
    found = [obj for each in lists for obj in each if phase is None or status_of(obj).phase == phase]
    if not is_table(output):
        shown = await without_passwords(connection.client, found)
        print_list([without_managed_fields(obj) for obj in shown], output, name=title_of)
    elif not found and not refusals.count:
        click.echo(f"No resources found{f' in namespace {namespace}' if namespace else ''}.", err=True)
    elif found:
        _print(found, is_across=all_namespaces)
    refusals.exit_if_any()


async def _objects(client: Client, target: Target, namespace: str, selector: str) -> list[JsonObject]:
    path = target.kind.path(namespace, target.name)
    items = [await client.get(path)] if target.name else (await client.list(path, labelSelector=selector))[0]
    return [with_type_meta(target.kind, each) for each in items]


def _print(found: Iterable[JsonObject], *, is_across: bool) -> None:
    now = time.time()
    table = Table(("NAMESPACE", *HEADINGS) if is_across else HEADINGS)
    table.print([obj["metadata"]["namespace"], *cells(obj, now)] if is_across else cells(obj, now) for obj in found)


def cells(obj: JsonObject, now: float) -> list[str]:
    """The row under `HEADINGS`."""
    status, metadata = status_of(obj), obj["metadata"]
    ready = find(status.conditions, READY)
    created = epoch_of(metadata.get("creationTimestamp"))
    return [
        obj["kind"],
        metadata["name"],
        status.phase,
        ready.status if ready is not None else "Unknown",
        next_run(obj, status, now),
        human_duration(now - created) if created is not None else "",
        current_message(status),
    ]
