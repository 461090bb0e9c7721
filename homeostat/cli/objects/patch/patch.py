"""`homeostat patch`: changes fields of an object by a patch, as kubectl does."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from homeostat.cli.completion.words import complete_files, complete_targets
from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.failure import Failure
from homeostat.cli.objects.kinds import discover
from homeostat.cli.objects.targets import parse_targets, require_names
from homeostat.client.base import JSON_PATCH, MERGE_PATCH, Client
from homeostat.objects import yaml
from homeostat.objects.errors import ApiError, UnsupportedMediaTypeError
from homeostat.objects.json import Json

_TYPES: Final = {
    "strategic": "application/strategic-merge-patch+json",
    "merge": MERGE_PATCH,
    "json": JSON_PATCH,
}
_QUERY: Final = {"fieldManager": "homeostat-patch", "fieldValidation": "Strict"}
_MOST_BYTES: Final = 3 << 20


@click.command(short_help="Change fields of an object by a patch.")
@click.argument("words", nargs=-1, required=True, metavar="KIND NAME", shell_complete=complete_targets)
@click.option("-p", "--patch", "text", default="", help="The patch, as JSON or YAML.")
@click.option(
    "--patch-file", "file", default="", metavar="FILE", shell_complete=complete_files, help="Read it from here."
)
@click.option(
    "--type",
    "type_",
    type=click.Choice(list(_TYPES)),
    default=None,
    help="How the patch is merged.  [default: strategic, or merge for a custom kind, which has no strategic one]",
)
@click.option("--subresource", default="", help="Patch this part, such as status or scale.")
@connected
async def command(
    connection: Connection, words: tuple[str, ...], text: str, file: str, type_: str | None, subresource: str
) -> None:
    """Change fields of objects by a patch.

    A strategic patch merges lists by the keys of their entries, such as the containers of a Pod by name; a merge patch
    replaces lists.

    \b
    Examples:
      homeostat patch deploy web -p '{"spec":{"replicas":3}}'
      homeostat patch syncpolicy topics -n shop -p '{"spec":{"suspend":true}}'
      homeostat patch deploy web --type json -p '[{"op":"remove","path":"/spec/paused"}]'
    """
    if bool(text) == bool(file):
        raise click.UsageError("give the patch (-p PATCH) or a file with it (--patch-file FILE), one of the two")
    patch = _read(text, file)
    for target in require_names(parse_targets(await discover(connection.client), words)):
        path = target.kind.path(connection.namespace, target.name, subresource)
        used = await _send(connection.client, path, patch, type_)
        note = " (by a merge patch: this kind has no strategic one)" if type_ is None and used == "merge" else ""
        click.echo(f"{target.kind.title}/{target.name} patched{note}")


async def _send(client: Client, path: str, patch: Json, type_: str | None) -> str:
    """The type that was used. Discovery does not say which kinds are custom, so the server is asked by trying."""
    try:
        await client.request("PATCH", path, _QUERY, body=patch, content_type=_TYPES[type_ or "strategic"])
        return type_ or "strategic"
    except UnsupportedMediaTypeError as error:
        if type_ is not None:
            raise Failure(f"{path}: this kind takes no {type_} patch; leave out --type, or use --type merge") from error
    await client.request("PATCH", path, _QUERY, body=patch, content_type=_TYPES["merge"])
    return "merge"


def _read(text: str, file: str) -> Json:
    try:
        data = Path(file).read_bytes() if file else text.encode()
        return yaml.load(data, limit=_MOST_BYTES)
    except OSError as error:
        raise Failure(f"cannot read {file}: {error.strerror}") from error
    except ApiError as error:
        raise Failure(f"the patch is not valid JSON or YAML: {error.message}") from error
