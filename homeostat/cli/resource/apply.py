"""`homeostat resource apply`: applies resources from files, and waits until they are ready."""

from __future__ import annotations

import click

from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.failure import Failure
from homeostat.cli.console.output import title
from homeostat.cli.files.manifests import files_option, read_manifests
from homeostat.cli.objects.apply import Applying
from homeostat.cli.resource.kinds import ResourceKinds, discover_resources, title_of
from homeostat.cli.resource.state import Goal
from homeostat.cli.resource.wait import Awaited, awaited, is_wanted, wait_for, wait_options
from homeostat.cli.type.add import add_types
from homeostat.cli.type.body import adopted
from homeostat.objects.json import JsonObject
from homeostat.operators.actions.api import RESOURCE_TYPE, RESOURCES

_TYPES_WITHIN_S = 30.0


@click.command(short_help="Create or update the resources of files, and wait for them.")
@files_option(is_required=True)
@click.option("--dry-run", is_flag=True, help="Let the server check everything and store nothing.")
@click.option("--force-conflicts", is_flag=True, help="Take over fields that another manager has set.")
@wait_options()
@connected
async def command(
    connection: Connection,
    files: tuple[str, ...],
    dry_run: bool,
    force_conflicts: bool,
    is_awaited: bool | None,
    within_s: int,
) -> None:
    """Create or update the resources of files, by server-side apply.

    A file holds objects of resources.homeostat.dev or bodies of the REST API: {"name", "resource_type_name",
    "resource_type_version", "spec", "action_plugin", "plugin_config"}. Resource types in it are added first.

    Exits with 0 when all are ready, or only stored where nothing is waited for, and with 1 where one is refused, fails,
    or is not ready in time.

    \b
    Examples:
      homeostat resource apply -f orders.yaml --wait
      homeostat resource apply -f resources/ --wait --timeout 3600
      homeostat resource apply -f orders.json --dry-run
    """
    types, resources = sorted_manifests(read_manifests(files, adopt=adopted))
    if types and not dry_run:
        await add_types(connection, types, force=force_conflicts, within_s=_TYPES_WITHIN_S)
    kinds = await discover_resources(connection.client)
    applying = Applying(
        connection,
        kinds,
        dry_run=dry_run,
        force=force_conflicts,
        naming=title_of,
        before="add its type (homeostat type add)",
    )
    stored = [each for obj in resources if (each := await applying.apply(obj)) is not None]
    if is_wanted(is_awaited) and not dry_run:
        await wait_for(connection.client, [_target(kinds, each) for each in stored], within_s)
    if applying.refusals.count:
        raise click.exceptions.Exit(1)


def sorted_manifests(manifests: list[JsonObject]) -> tuple[list[JsonObject], list[JsonObject]]:
    """Separates types from resources; refuses other objects."""
    types, resources = [], []
    for each in manifests:
        if each["kind"] == RESOURCE_TYPE.kind.kind and each["apiVersion"] == RESOURCE_TYPE.kind.api_version:
            types.append(each)
        elif each["apiVersion"].partition("/")[0] == RESOURCES:
            resources.append(each)
        else:
            raise Failure(f"{title(each)} is neither a resource nor a resource type; use: homeostat apply")
    return types, resources


def _target(kinds: ResourceKinds, stored: JsonObject) -> Awaited:
    kind = kinds.find(stored["apiVersion"], stored["kind"])
    assert kind is not None
    return awaited(kind, stored, Goal(stored["metadata"]["generation"]))
