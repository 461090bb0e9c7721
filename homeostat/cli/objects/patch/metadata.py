"""Sets and removes annotations or labels of objects, as kubectl does: `KEY=VALUE` sets, `KEY-` removes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import click

from homeostat.cli.console.advice import missing_text
from homeostat.cli.console.connection import Connection
from homeostat.cli.console.failure import Refusals
from homeostat.cli.objects.kinds import discover
from homeostat.cli.objects.targets import Target, parse_targets, require_names
from homeostat.client.base import MERGE_PATCH, Client
from homeostat.objects.edit import TRIES
from homeostat.objects.errors import ApiError, ConflictError
from homeostat.objects.json import JsonObject

Field = Literal["annotations", "labels"]


class Changes(NamedTuple):
    """Values by key; None removes the key."""

    field: Field
    values: dict[str, str | None]
    may_overwrite: bool


def split_words(words: Sequence[str]) -> tuple[list[str], dict[str, str | None]]:
    """The words that name objects, and the changes after them. `UsageError` if either is missing."""
    at = next((at for at, each in enumerate(words) if _is_change(each)), len(words))
    names, changes = list(words[:at]), words[at:]
    if not names or not changes:
        raise click.UsageError("name objects and then changes: KIND NAME KEY=VALUE, or KEY- to remove")
    if wrong := next((each for each in changes if not _is_change(each)), ""):
        raise click.UsageError(f'"{wrong}" is neither KEY=VALUE nor KEY-')
    found: dict[str, str | None] = {}
    for each in changes:
        key, equals, value = each.partition("=")
        key = key if equals else key.removesuffix("-")
        if key in found:
            raise click.UsageError(f'"{key}" is changed twice; give it once')
        found[key] = value if equals else None
    return names, found


def _is_change(word: str) -> bool:
    key, equals, _ = word.partition("=")
    return bool(key.removesuffix("-")) and (bool(equals) or word.endswith("-"))


async def change_metadata(connection: Connection, words: Sequence[str], field: Field, *, may_overwrite: bool) -> None:
    """Prints a line for each object; a refused one is counted and does not stop the others."""
    names, values = split_words(words)
    refusals, done = Refusals(), {"annotations": "annotated", "labels": "labeled"}[field]
    for target in require_names(parse_targets(await discover(connection.client), names)):
        title = f"{target.kind.title}/{target.name}"
        try:
            kept = await _change(connection.client, target, connection.namespace, Changes(field, values, may_overwrite))
        except ApiError as error:
            refusals.add(f"{title}: {await missing_text(connection.client, error)}")
            continue
        if kept:
            refusals.add(f"{title}: {kept}; pass --overwrite to replace it")
        else:
            click.echo(f"{title} {done}")
    refusals.exit_if_any()


async def _change(client: Client, target: Target, namespace: str, changes: Changes) -> str:
    """The value that is in the way of the change; empty if it was made."""
    path = target.kind.path(namespace, target.name)
    metadata: JsonObject = {changes.field: changes.values}
    if changes.may_overwrite:
        await _send(client, path, metadata)
        return ""
    for attempt in range(1, TRIES + 1):
        shown = (await client.get(path))["metadata"]
        if kept := _kept(shown.get(changes.field) or {}, changes):
            return kept
        try:
            await _send(client, path, {**metadata, "resourceVersion": shown["resourceVersion"]})
            break
        except ConflictError:
            # Most likely a controller wrote the status, which does not matter here.
            if attempt == TRIES:
                raise
    return ""


def _kept(known: Mapping[str, str], changes: Changes) -> str:
    for key, value in changes.values.items():
        if value is not None and known.get(key, value) != value:
            return f'{changes.field.removesuffix("s")} "{key}" has the value "{known[key]}"'
    return ""


async def _send(client: Client, path: str, metadata: JsonObject) -> None:
    query = {"fieldManager": "homeostat-patch"}
    await client.request("PATCH", path, query, body={"metadata": metadata}, content_type=MERGE_PATCH)
