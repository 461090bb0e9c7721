"""`homeostat resource watch`: shows resources and their phases live; failed ones first."""

from __future__ import annotations

from functools import partial
from typing import Final

import click

from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.failure import Failure
from homeostat.cli.console.live import View, show_live
from homeostat.cli.console.selection import all_namespaces_option
from homeostat.cli.objects.changes import objects_of
from homeostat.cli.objects.kinds import Kind
from homeostat.cli.resource.complete import complete_resources
from homeostat.cli.resource.kinds import resources_of
from homeostat.cli.resource.state import standing_of, status_of
from homeostat.objects.json import JsonObject

_HEADINGS: Final = ("NAMESPACE", "TYPE", "NAME", "PHASE", "FOR", "MESSAGE", "RUN")
_STYLES: Final = {"ready": "green", "failed": "red", "reconciling": "yellow", "deleting": "magenta", "pending": ""}
_ORDER: Final = ("failed", "deleting", "reconciling", "pending", "ready")


@click.command(short_help="Show resources and their phases, live.")
@click.argument("words", nargs=-1, metavar="[TYPE [NAME]...]", shell_complete=complete_resources)
@all_namespaces_option
@connected
async def command(connection: Connection, words: tuple[str, ...], all_namespaces: bool) -> None:
    """Show resources and their phases as they change. Ctrl-C ends it. Types that are added later are not followed.

    \b
    Examples:
      homeostat resource watch
      homeostat resource watch DatabaseCluster -A
      homeostat resource watch databasecluster/orders
    """
    client = connection.client
    targets = await resources_of(client, words)
    if not targets:
        raise Failure("there is no resource type yet; to add one: homeostat type add -f FILE")
    namespace = "" if all_namespaces else connection.namespace
    changes = [objects_of(client, kind, namespace, name=name, missing=partial(_gone, kind)) for kind, name in targets]
    await show_live(VIEW, changes)


def _gone(kind: Kind) -> Failure:
    return Failure(f"the resource type {kind.kind} is gone")


def row_of(obj: JsonObject, now: float) -> tuple[str, ...]:
    metadata, standing = obj["metadata"], standing_of(obj)
    where = (metadata["namespace"], obj["kind"], metadata["name"])
    return (*where, standing.phase, standing.age(now), standing.message, standing.url)


def _rank(obj: JsonObject) -> tuple[int, str, str, str]:
    metadata = obj["metadata"]
    return _ORDER.index(status_of(obj).phase), metadata["namespace"], obj["kind"], metadata["name"]


def _style(obj: JsonObject) -> str:
    return _STYLES[status_of(obj).phase]


VIEW: Final = View(_HEADINGS, row_of, _rank, _style)
