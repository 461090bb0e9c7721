"""`homeostat migrate-versions`: stores the objects of custom kinds at their present storage version.

After the storage version of a definition has changed, an object keeps the old one until it is written, and the old
version cannot be removed from the definition while `status.storedVersions` has it. This writes every object without a
change, which stores it at the new version, and then removes the old versions from `storedVersions`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

import click

from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.failure import Failure, Refusals
from homeostat.client.base import Client
from homeostat.objects.errors import ApiError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import DEFINITION, Kind

_AT_ONCE = 32
_METADATA = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


class Migration(NamedTuple):
    """A definition whose objects may be stored at other versions than `storage`."""

    definition: JsonObject
    kind: Kind
    storage: str
    others: tuple[str, ...]


@click.command(short_help="Store custom objects at their storage version.")
@click.argument("names", nargs=-1, metavar="[DEFINITION...]")
@click.option("--dry-run", "is_dry_run", is_flag=True, help="Only print which definitions have objects to migrate.")
@connected
async def command(connection: Connection, names: tuple[str, ...], is_dry_run: bool) -> None:
    """Store the objects of custom kinds at the storage version of their definitions.

    Without a name, of all definitions that list further versions in status.storedVersions. These versions are removed
    from the list in the end, so that they can be removed from the definition.

    \b
    Examples:
      homeostat migrate-versions --dry-run
      homeostat migrate-versions widgets.example.com
    """
    refusals = Refusals()
    for migration in migrations(await _definitions(connection.client, names)):
        name, versions = migration.definition["metadata"]["name"], ", ".join(migration.others)
        if is_dry_run:
            click.echo(f"{name}: objects may be stored at {versions}; the storage version is {migration.storage}")
            continue
        try:
            count = await migrate(connection.client, migration)
        except ApiError as error:
            refusals.add(f"{name}: {error.message}")
            continue
        click.echo(f"{name}: {count} objects are stored at {migration.storage}; removed {versions} from storedVersions")
    refusals.exit_if_any()


async def _definitions(client: Client, names: Sequence[str]) -> list[JsonObject]:
    found, _ = await client.list(DEFINITION.path(""))
    known = {each["metadata"]["name"]: each for each in found}
    if missing := [name for name in names if name not in known]:
        raise Failure(f"there is no definition {missing[0]}; list them with: homeostat get crds")
    return [known[name] for name in names or sorted(known)]


def migrations(definitions: Sequence[JsonObject]) -> list[Migration]:
    """What to do. A definition that stores one version, or is served at none, has nothing to migrate."""
    found = []
    for definition in definitions:
        spec, status = definition["spec"], definition.get("status") or {}
        storage = next(each["name"] for each in spec["versions"] if each["storage"])
        others = tuple(each for each in status.get("storedVersions") or () if each != storage)
        served = [each["name"] for each in spec["versions"] if each["served"]]
        if others and served:
            names = status["acceptedNames"]
            version = storage if storage in served else served[0]
            is_namespaced = spec["scope"] == "Namespaced"
            kind = Kind(spec["group"], version, names["plural"], names["kind"], is_namespaced=is_namespaced)
            found.append(Migration(definition, kind, storage, others))
    return found


async def migrate(client: Client, migration: Migration) -> int:
    """Write every object; then the definition says that there is one stored version. Returns how many there were.

    `ConflictError` if the definition changed meanwhile: its storage version may be another one now.
    """
    kind = migration.kind
    items, _ = await client.list(kind.path(""), accept=_METADATA)
    for start in range(0, len(items), _AT_ONCE):
        some = items[start : start + _AT_ONCE]
        await asyncio.gather(*(_rewrite(client, kind, each["metadata"]) for each in some))
    metadata = migration.definition["metadata"]
    done = {
        "metadata": {"resourceVersion": metadata["resourceVersion"]},
        "status": {"storedVersions": [migration.storage]},
    }
    await client.merge(DEFINITION.path("", metadata["name"], "status"), done)
    return len(items)


async def _rewrite(client: Client, kind: Kind, metadata: JsonObject) -> None:
    """A patch that changes nothing: the server stores the object if it was stored at another version."""
    try:
        await client.merge(kind.path(metadata.get("namespace", ""), metadata["name"]), {})
    except NotFoundError:
        return
