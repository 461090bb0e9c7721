"""`homeostat resource history`: past reconciliations; they are kept when the resource, or its type, is gone."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Final

import click
import msgspec

from homeostat.cli.connection import Connection, connected
from homeostat.cli.output import list_of, output_option, print_object, without_managed_fields
from homeostat.cli.resourcekinds import ResourceKinds, discover_resources, whole
from homeostat.cli.resourcestate import changes_text
from homeostat.cli.table import Table
from homeostat.cli.typeobjects import no_types
from homeostat.client.base import Client
from homeostat.objects.age import epoch_of, human_duration
from homeostat.objects.errors import BadRequestError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.operators.actions.api import RECONCILIATION, Reconciliation
from homeostat.operators.actions.naming import kind_name, plural_of

_HEADINGS: Final = ("TYPE", "NAME", "AGE", "TRIGGER", "GENERATION", "RESULT", "CHANGES", "DRIFT", "SECONDS", "ERROR")


@click.command(short_help="List past reconciliations, also of resources that are gone.")
@click.argument("words", nargs=-1, metavar="[TYPE [NAME]]")
@click.option("-A", "--all-namespaces", is_flag=True, help="In all namespaces.")
@click.option("--gone", "is_gone", is_flag=True, help="Only of resources that are gone.")
@click.option("--failed", "is_failed", is_flag=True, help="Only those that failed.")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(0), help="Newest so many; 0 for all.")
@output_option("wide", "json", "yaml")
@connected
async def command(
    connection: Connection,
    words: tuple[str, ...],
    all_namespaces: bool,
    is_gone: bool,
    is_failed: bool,
    limit: int,
    output: str | None,
) -> None:
    """List past reconciliations, the newest first. Resources may be named that are gone, with their type too.

    CHANGES are things made, changed and removed. JSON and YAML also have what was planned and what was printed.

    \b
    Examples:
      homeostat resource history databasecluster/orders
      homeostat resource history DatabaseCluster --failed -A
      homeostat resource history --gone -o yaml
    """
    client, namespace = connection.client, "" if all_namespaces else connection.namespace
    type_word, name = _named(words)
    kinds = await discover_resources(client)
    entries = await _entries(client, namespace, name)
    if type_word:
        wanted = _kind_names(kinds, type_word)
        entries = [each for each in entries if kind_name(each["spec"]["resourceKind"]).lower() in wanted]
    if is_failed:
        entries = [each for each in entries if not each["spec"]["isSuccess"]]
    if is_gone:
        live = await _live(client, kinds, namespace)
        entries = [each for each in entries if each["spec"]["resourceUid"] not in live]
    entries.sort(key=_moment, reverse=True)
    _print(entries[: limit or None], output, is_across=all_namespaces)


def _named(words: Sequence[str]) -> tuple[str, str]:
    if len(words) == 1 and "/" in words[0]:
        words = words[0].split("/")
    if len(words) > 2 or any("/" in each or not each for each in words):
        raise click.UsageError("name one resource, as TYPE/NAME or TYPE NAME, or one TYPE")
    return (words[0] if words else "", words[1] if len(words) > 1 else "")


def _kind_names(kinds: ResourceKinds, word: str) -> set[str]:
    """In small letters; a type that is gone is named by its name or its plural."""
    known = {each.kind.lower() for each in kinds.preferred() if word.lower() in each.words()}
    named = kind_name(word).lower()
    return known or {named, *(named[: -len(end)] for end in ("s", "es") if plural_of(named.removesuffix(end)) == named)}


async def _entries(client: Client, namespace: str, name: str) -> list[JsonObject]:
    path = RECONCILIATION.kind.path(namespace)
    try:
        try:
            found, _ = await client.list(path, fieldSelector=f"spec.resourceName={name}" if name else "")
        except BadRequestError:
            # Servers before Kubernetes 1.31 select by no field of ours.
            found, _ = await client.list(path)
    except NotFoundError as error:
        raise no_types() from error
    return [whole(RECONCILIATION.kind, each) for each in found if not name or each["spec"]["resourceName"] == name]


async def _live(client: Client, kinds: ResourceKinds, namespace: str) -> set[str]:
    found = [await client.list(each.path(namespace)) for each in kinds.preferred()]
    return {obj["metadata"]["uid"] for items, _ in found for obj in items}


def _moment(entry: JsonObject) -> tuple[str, int, str]:
    """Times are whole seconds: entries of one second are told apart by the number that their names end with."""
    number = entry["metadata"]["name"].rpartition("-")[2]
    return entry["spec"]["finished"], int(number) if number.isdigit() else 0, entry["metadata"]["name"]


def _print(entries: Sequence[JsonObject], output: str | None, *, is_across: bool) -> None:
    if output in {"json", "yaml"}:
        print_object(list_of([without_managed_fields(each) for each in entries]), output)
        return
    if not entries:
        click.echo("No reconciliations found.", err=True)
        return
    headings = (*_HEADINGS, "PLUGIN", "URL") if output == "wide" else _HEADINGS
    table = Table(("NAMESPACE", *headings) if is_across else headings)
    table.print(_rows(entries, is_wide=output == "wide", is_across=is_across))


def _rows(entries: Iterable[JsonObject], *, is_wide: bool, is_across: bool) -> Iterable[list[object]]:
    now = time.time()
    for each in entries:
        entry = msgspec.convert(each, Reconciliation).spec
        row: list[object] = [
            entry.resource_kind,
            entry.resource_name,
            human_duration(max(now - (epoch_of(entry.finished) or now), 0)),
            entry.trigger,
            entry.generation,
            "success" if entry.is_success else "failed",
            changes_text(entry.changes),
            "drift" if entry.is_drift else "",
            f"{entry.duration_seconds:.0f}",
            entry.error,
        ]
        wide = [entry.plugin, entry.url] if is_wide else []
        yield [*([each["metadata"]["namespace"]] if is_across else []), *row, *wide]
