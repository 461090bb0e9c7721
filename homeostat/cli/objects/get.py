"""`homeostat get`: prints objects as the server's own table, or complete in JSON or YAML."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from urllib.parse import parse_qsl

import click

from homeostat.cli.completion.words import complete_targets
from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.output import is_table, output_option, print_list, without_managed_fields
from homeostat.cli.console.selection import all_namespaces_option, selector_option
from homeostat.cli.console.table import Table
from homeostat.cli.objects.follow import follow
from homeostat.cli.objects.kinds import discover, with_type_meta
from homeostat.cli.objects.rows import Columns, fetch_table
from homeostat.cli.objects.targets import Target, parse_targets
from homeostat.client.base import ANY
from homeostat.objects.errors import ForbiddenError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import NAMESPACE


@click.command(short_help="Print objects as a table, JSON or YAML.")
@click.argument("words", nargs=-1, metavar="KIND [NAME]...", shell_complete=complete_targets)
@all_namespaces_option
@selector_option
@click.option("--field-selector", "fields", default="", help="Fields that objects must have: status.phase=Running")
@click.option("-w", "--watch", "is_followed", is_flag=True, help="Keep printing objects as they change.")
@click.option("--show-managed-fields", is_flag=True, help="Print metadata.managedFields with JSON and YAML.")
@click.option("--raw", default="", metavar="PATH", help="Print what the server has at this path: /metrics")
@output_option
@connected
async def command(
    connection: Connection,
    words: tuple[str, ...],
    all_namespaces: bool,
    selector: str,
    fields: str,
    is_followed: bool,
    show_managed_fields: bool,
    raw: str,
    output: str,
) -> None:
    """Print objects. KIND is a plural, singular, short name or Kind, with .group where it is needed.

    \b
    Examples:
      homeostat get ns
      homeostat get deployments.apps web -o yaml
      homeostat get cm,secret -A -l app=web
      homeostat get pod/web cm/settings -o name
      homeostat get deploy web -o jsonpath='{.status.readyReplicas}'
      homeostat get leases -w
      homeostat get pods -A --field-selector status.phase=Pending
      homeostat get --raw /metrics
    """
    if bool(raw) == bool(words):
        raise click.UsageError("pass a KIND, or --raw PATH")
    if raw:
        path, _, rest = raw.partition("?")
        click.echo(await connection.client.fetch("GET", path, dict(parse_qsl(rest)), accept=ANY), nl=False)
        return
    targets = parse_targets(await discover(connection.client), words)
    if (selector or fields) and targets[0].name:
        raise click.UsageError("pass NAMEs or a selector, not both")
    query = {"labelSelector": selector, "fieldSelector": fields}
    namespace = "" if all_namespaces else connection.namespace
    if all_namespaces and targets[0].name:
        raise click.UsageError("a NAME is in one namespace; leave out --all-namespaces or the NAME")
    if is_followed:
        if len(targets) > 1:
            raise click.UsageError("--watch follows one kind or one object")
        await follow(connection.client, targets[0], namespace, query=query, output=output)
    elif not is_table(output):
        found = await _objects(connection, targets, namespace, query)
        if not show_managed_fields:
            found = [without_managed_fields(obj) for obj in found]
        is_single = len(targets) == 1 and bool(targets[0].name)
        print_list(found, output, is_single=is_single)
    else:
        await _print_tables(connection, targets, namespace, query, is_wide=output == "wide")


async def _objects(
    connection: Connection, targets: list[Target], namespace: str, query: Mapping[str, str]
) -> list[JsonObject]:
    async def fetch(target: Target) -> list[JsonObject]:
        path = target.kind.path(namespace, target.name)
        if target.name:
            return [await connection.client.get(path)]
        items, _ = await connection.client.list(path, **query)
        return [with_type_meta(target.kind, item) for item in items]

    return [obj for found in await asyncio.gather(*map(fetch, targets)) for obj in found]


async def _print_tables(
    connection: Connection, targets: list[Target], namespace: str, query: Mapping[str, str], *, is_wide: bool
) -> None:
    kinds = {target.kind for target in targets}
    tables = await asyncio.gather(
        *(fetch_table(connection.client, each.kind.path(namespace, each.name), **query) for each in targets)
    )
    printed: dict[str, Table] = {}
    for target, table in zip(targets, tables, strict=True):
        columns = Columns(table, target.kind, is_wide=is_wide, with_namespace=not namespace, with_kind=len(kinds) > 1)
        if not table["rows"]:
            continue
        if target.kind.title not in printed:
            if printed:
                click.echo()
            printed[target.kind.title] = Table(columns.headings)
        printed[target.kind.title].print(columns.cells(table))
    if not printed:
        await _print_none(connection, namespace if any(kind.is_namespaced for kind in kinds) else "")


async def _print_none(connection: Connection, namespace: str) -> None:
    """Name a namespace that does not exist: a misspelt one has no objects either."""
    try:
        if namespace:
            await connection.client.get(NAMESPACE.path("", namespace))
    except NotFoundError:
        click.echo(f'No objects found: there is no namespace "{namespace}".', err=True)
        return
    except ForbiddenError:
        pass
    click.echo(f"No objects found{f' in namespace {namespace}' if namespace else ''}.", err=True)
