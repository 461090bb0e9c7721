"""`homeostat type add`: adds resource types from files and waits until their kinds are served."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import aclosing
from typing import Final

import click

from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.failure import Failure
from homeostat.cli.files.manifests import files_option, read_manifests
from homeostat.cli.objects.apply import Applying
from homeostat.cli.objects.changes import versions_of
from homeostat.cli.objects.kinds import Kinds
from homeostat.cli.type.body import adopted
from homeostat.cli.type.stored import FoundType, found_type, list_types
from homeostat.client.base import Client
from homeostat.objects.conditions import READY, Condition, find
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.operators.actions.api import RESOURCE_TYPE, ResourceTypeStatus
from homeostat.operators.actions.types.decide import DEFINING
from homeostat.operators.actions.types.naming import resource_kind, type_object_name

_POLL_EVERY_S: Final = 0.05
_PATIENCE_S: Final = 5.0
"""A plane that has just started may not serve the kind yet, or its operator may not be ready to check types."""


@click.command(short_help="Create or update the resource types of files.")
@files_option(is_required=True)
@click.option("--force-conflicts", is_flag=True, help="Take over fields that another manager has set.")
@click.option("--wait/--no-wait", "is_awaited", default=True, help="Wait until the kinds are served.  [default: wait]")
@click.option("--timeout", "within_s", default=30, show_default=True, type=click.IntRange(1), help="Seconds to wait.")
@connected
async def command(
    connection: Connection, files: tuple[str, ...], force_conflicts: bool, is_awaited: bool, within_s: int
) -> None:
    """Create or update the resource types of files, and wait until the server serves their kinds.

    A file holds ResourceType objects or bodies of the REST API: {"name", "version", "schema", "description"}. A type
    that already exists is updated.

    \b
    Examples:
      homeostat type add -f databasecluster.yaml
      homeostat type add -f types/ --no-wait
      curl -s https://example.com/type.json | homeostat type add -f -
    """
    manifests = read_manifests(files, adopt=adopted)
    for each in manifests:
        if each["kind"] != RESOURCE_TYPE.kind.kind or each["apiVersion"] != RESOURCE_TYPE.kind.api_version:
            raise Failure(
                f"{each['kind']} {each['metadata']['name']} is not a resource type; use: homeostat resource apply"
            )
    await add_types(connection, manifests, force=force_conflicts, within_s=within_s if is_awaited else None)


async def add_types(
    connection: Connection, manifests: Sequence[JsonObject], *, force: bool = False, within_s: float | None
) -> None:
    """Exits with 1 if a type is refused or not ready in time. If `within_s` is None, it does not wait."""
    there = await list_types(connection.client, patience_s=_PATIENCE_S)
    applying = Applying(connection, Kinds([RESOURCE_TYPE.kind]), force=force, patience_s=_PATIENCE_S)
    stored = [await applying.apply(_named_as(each, there)) for each in manifests]
    added = [found_type(each) for each in stored if each is not None]
    if within_s is not None:
        ends = await asyncio.gather(*(_is_served(connection.client, each, within_s) for each in added))
        applying.refusals.count += ends.count(False)
    if applying.refusals.count:
        raise click.exceptions.Exit(1)


def _named_as(declared: JsonObject, there: Iterable[FoundType]) -> JsonObject:
    """Uses the object name of an existing type with this name and version, unless the file sets one."""
    spec, metadata = declared.get("spec") or {}, declared["metadata"]
    title = f"{spec.get('name')}/{spec.get('version', 'v1')}"
    same = next((each.type.metadata.name for each in there if each.title == title), "")
    is_named = metadata["name"] != type_object_name(str(spec.get("name")), str(spec.get("version", "v1")))
    return declared if is_named or not same else {**declared, "metadata": {**metadata, "name": same}}


async def _is_served(client: Client, added: FoundType, within_s: float) -> bool:
    """Waits for the kind, and prints the result."""
    try:
        async with asyncio.timeout(within_s):
            ready = await _settled(client, added)
            if ready.status == "True":
                await _listed(client, added)
    except TimeoutError:
        Failure(
            f"{added.title} has no kind after {within_s:.0f} s; is the operator actions running? "
            f"homeostat type show {added.title} says more"
        ).show()
        return False
    if ready.status != "True":
        Failure(f"{added.title}: {ready.message or ready.reason}").show()
        return False
    click.echo(f"{added.title} is ready: {resource_kind(added.type.spec).plural}")
    return True


async def _settled(client: Client, added: FoundType) -> Condition:
    """Waits for the Ready condition of this generation."""
    versions = versions_of(client, RESOURCE_TYPE.kind, "", added.type.metadata.name)
    async with aclosing(versions):
        async for obj in versions:
            if obj is None:
                return Condition(READY, "False", "Deleted", "it was deleted meanwhile")
            found = found_type(obj).type
            status = found.read_status(ResourceTypeStatus)
            ready = find(status.conditions, READY)
            is_judged = status.observed_generation >= added.type.metadata.generation
            if ready is not None and is_judged and ready.status != "Unknown" and ready.reason != DEFINING:
                return ready
    raise AssertionError("versions have no end")


async def _listed(client: Client, added: FoundType) -> None:
    path = resource_kind(added.type.spec).path("")
    while True:
        try:
            await client.request("GET", path, {"limit": 1})
        except NotFoundError:
            await asyncio.sleep(_POLL_EVERY_S)
        else:
            return
