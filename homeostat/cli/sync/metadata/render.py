"""`homeostat sync resource metadata render`: operations with their templates filled in."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.output import print_value
from homeostat.cli.sync.console.run import Run, chosen_target, sync_command
from homeostat.objects.json import JsonObject
from homeostat.operators.sync.engine.errors import SyncError
from homeostat.operators.sync.engine.lists.items import identity_of
from homeostat.operators.sync.engine.metadata.call import Place
from homeostat.operators.sync.engine.metadata.document import OPERATIONS
from homeostat.operators.sync.engine.paths.logical import Target
from homeostat.operators.sync.session.desired import local_payload
from homeostat.operators.sync.session.remote import render
from homeostat.operators.sync.session.session import Session


@click.command("render", short_help="Print operations with their templates filled in.")
@click.argument("path")
@click.argument("operation", required=False, type=click.Choice(OPERATIONS))
@sync_command()
async def command(run: Run, path: str, operation: str | None) -> None:
    """Print one operation, or all of them, as they would be sent for a resource.

    \b
    Examples:
      homeostat sync resource metadata render /customers/acme update
    """
    target = chosen_target(path, None)
    async with run.session(target.path) as session:
        if operation is not None:
            print_value(run, await _rendered(session, target, operation))
            return
        found: JsonObject = {}
        for each in OPERATIONS:
            try:
                found[each] = await _rendered(session, target, each)
            except SyncError:
                continue
        print_value(run, found)


async def _rendered(session: Session, target: Target, operation: str) -> JsonObject:
    rules = session.metadata.rules(target.path, is_collection=target.is_collection)
    payload = None if target.is_collection else local_payload(session, target.path)
    value = payload.value if payload is not None and isinstance(payload.value, dict) else None
    alias, identity = identity_of(rules, value) if value is not None else ("", "")
    place = Place(path=target.path, is_collection=target.is_collection, alias=alias, remote_id=identity)
    call = await render(session, rules, operation, place, value)
    stored = rules.document["operations"].get(operation, {})
    found: JsonObject = {"method": call.method} if "method" in stored else {}
    found["path"] = call.path
    for key, texts in (("query", call.query), ("headers", call.headers)):
        if texts:
            found[key] = dict(texts)
    for key in ("body", "transforms"):
        if key in stored:
            found[key] = stored[key]
    return {**found, "Validate": stored.get("validate")}
