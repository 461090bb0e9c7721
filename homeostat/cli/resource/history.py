"""`homeostat resource history`: lists past reconciliations, also of deleted resources and types."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Final

import click
import msgspec

from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.failure import Failure
from homeostat.cli.console.output import is_table, name_of, output_option, print_list, without_managed_fields
from homeostat.cli.console.selection import all_namespaces_option
from homeostat.cli.console.table import Table
from homeostat.cli.objects.kinds import with_type_meta
from homeostat.cli.resource.complete import complete_resources
from homeostat.cli.resource.kinds import ResourceKinds, discover_resources
from homeostat.cli.resource.state import changes_text
from homeostat.cli.type.stored import no_types
from homeostat.client.base import Client
from homeostat.objects.errors import BadRequestError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.time.age import epoch_of, human_duration
from homeostat.operators.actions.api import RECONCILIATION, Reconciliation
from homeostat.operators.actions.types.naming import kind_name, plural_of

_HEADINGS: Final = ("TYPE", "NAME", "AGE", "TRIGGER", "GENERATION", "RESULT", "CHANGES", "DRIFT", "SECONDS", "ERROR")

_PAGE: Final = 500


@click.command(short_help="List past reconciliations, also of resources that are gone.")
@click.argument("words", nargs=-1, metavar="[TYPE [NAME]]", shell_complete=complete_resources)
@all_namespaces_option
@click.option("--gone", "is_gone", is_flag=True, help="Only of resources that are gone.")
@click.option("--failed", "is_failed", is_flag=True, help="Only those that failed.")
@click.option(
    "--limit",
    default=20,
    show_default=True,
    type=click.IntRange(0),
    help="Show only this many, the newest; 0 shows all.",
)
@output_option
@connected
async def command(
    connection: Connection,
    words: tuple[str, ...],
    all_namespaces: bool,
    is_gone: bool,
    is_failed: bool,
    limit: int,
    output: str,
) -> None:
    """List past reconciliations, newest first, also of resources and types that are gone.

    CHANGES counts what was created, updated and deleted. JSON and YAML also contain the plan and the log.

    \b
    Examples:
      homeostat resource history databasecluster/orders
      homeostat resource history DatabaseCluster --failed -A
      homeostat resource history --gone -o yaml
    """
    client, namespace = connection.client, "" if all_namespaces else connection.namespace
    type_word, name = _named(words)
    kinds = await discover_resources(client)
    wanted = _kind_names(kinds, type_word) if type_word else None
    seen = False
    live = await _live(client, kinds, namespace) if is_gone else frozenset()

    def is_chosen(entry: JsonObject) -> bool:
        nonlocal seen
        spec = entry["spec"]
        is_of_type = wanted is None or kind_name(spec["resourceKind"]).lower() in wanted
        is_named = is_of_type and (not name or spec["resourceName"] == name)
        seen = seen or is_named
        return is_named and not (is_failed and spec["isSuccess"]) and spec["resourceUid"] not in live

    selector = f"spec.resourceName={name}" if name else ""
    try:
        entries = await _newest(client, RECONCILIATION.kind.path(namespace), selector, limit, is_chosen)
    except NotFoundError as error:
        raise no_types() from error
    if type_word and not seen:
        await _require(client, kinds, type_word, name, namespace)
    _print(entries, output, is_across=all_namespaces)


def _named(words: Sequence[str]) -> tuple[str, str]:
    if len(words) == 1 and "/" in words[0]:
        words = words[0].split("/")
    if len(words) > 2 or any("/" in each or not each for each in words):
        raise click.UsageError("expected one resource, as TYPE/NAME or TYPE NAME, or one TYPE")
    return (words[0] if words else "", words[1] if len(words) > 1 else "")


def _kind_names(kinds: ResourceKinds, word: str) -> set[str]:
    """In lower case; a deleted type is found by its name or its plural."""
    known = {each.kind.lower() for each in kinds.preferred() if word.lower() in each.words()}
    named = kind_name(word).lower()
    stems = (named, named[:-1], named[:-2], f"{named[:-3]}y")
    return known or {each for each in stems if named in (each, plural_of(each))}


async def _require(client: Client, kinds: ResourceKinds, type_word: str, name: str, namespace: str) -> None:
    """`Failure` for a type or a resource that does not exist. Call it if there is no history of it either."""
    kind = kinds.resolve(type_word)[0]
    known = [name_of(each) for each in (await client.list(kind.path(namespace)))[0]] if name else []
    if name in ("", *known):
        return
    near = get_close_matches(name, known, n=1)
    advice = f'did you mean "{near[0]}"?' if near else f"list them with: homeostat resource list {kind.kind.lower()} -A"
    where = f" in namespace {namespace}" if namespace else ""
    raise Failure(f'there is no {kind.kind} "{name}"{where}, and no history of one; {advice}')


async def _newest(
    client: Client, path: str, selector: str, limit: int, is_chosen: Callable[[JsonObject], bool]
) -> list[JsonObject]:
    """Returns the newest `limit` entries that match. Only one page is in memory, because there may be very many."""
    found: list[JsonObject] = []
    token = ""
    while True:
        query = {"limit": _PAGE, "continue": token, "fieldSelector": selector}
        try:
            page = await client.request("GET", path, query)
        except BadRequestError:
            if not selector:
                raise
            # Servers before Kubernetes 1.31 do not support our field selectors.
            selector = ""
            continue
        found += [with_type_meta(RECONCILIATION.kind, each) for each in page["items"] if is_chosen(each)]
        found.sort(key=_moment, reverse=True)
        del found[limit or len(found) :]
        token = page["metadata"].get("continue", "")
        if not token:
            return found


async def _live(client: Client, kinds: ResourceKinds, namespace: str) -> frozenset[str]:
    found = [await client.list(each.path(namespace)) for each in kinds.preferred()]
    return frozenset(obj["metadata"]["uid"] for items, _ in found for obj in items)


def _moment(entry: JsonObject) -> tuple[str, int, str]:
    """Entries of the same time are ordered by the number at the end of their names."""
    number = entry["metadata"]["name"].rpartition("-")[2]
    return entry["spec"]["finished"], int(number) if number.isdigit() else 0, entry["metadata"]["name"]


def _print(entries: Sequence[JsonObject], output: str, *, is_across: bool) -> None:
    if not is_table(output):
        print_list([without_managed_fields(each) for each in entries], output)
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
            seconds_text(entry.duration_seconds),
            entry.error,
        ]
        wide = [entry.plugin, entry.url] if is_wide else []
        yield [*([each["metadata"]["namespace"]] if is_across else []), *row, *wide]


def seconds_text(duration_s: float) -> str:
    """`127`, `4.2` or `0.031`: short durations have more digits."""
    return f"{duration_s:.{0 if duration_s >= 10 else 1 if duration_s >= 0.1 else 3}f}"
