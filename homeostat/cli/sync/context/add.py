"""`homeostat sync context add`: adds a context to the catalog."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.payloads import read_input
from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.objects.json import JsonObject
from homeostat.operators.sync.context.catalog import write_catalog
from homeostat.operators.sync.context.document import read_context
from homeostat.operators.sync.engine.errors import ValidationError


@click.command("add", short_help="Add a context.")
@click.argument("name", required=False)
@click.option("-f", "--payload", default=None, help="The context: a file, - for standard input, or JSON.")
@click.option("--content-type", default="", help="The format of the payload.")
@click.option("--context-name", default=None, help="Which context of a catalog to add.")
@click.option("--set-current", is_flag=True, help="Make it the current context.")
@sync_command(changes=True)
async def command(
    run: Run,
    name: str | None,
    payload: str | None,
    content_type: str,
    context_name: str | None,
    set_current: bool,
) -> None:
    """Add a context. The first one becomes the current context.

    \b
    Examples:
      homeostat sync context add -f context.yaml
    """
    found = await context_of(payload, content_type, name, context_name)
    catalog = (await run.catalog()).added(found)
    await write_catalog(run.catalog_path, catalog.used(found["name"]) if set_current else catalog)


async def context_of(
    payload: str | None, content_type: str = "", name: str | None = None, chosen: str | None = None
) -> JsonObject:
    """A context from input, which may be one of a catalog."""
    if payload is None:
        raise ValidationError("a context is required; pass -f FILE or -f -")
    value = (await read_input(payload, content_type)).value
    if isinstance(value, dict) and "contexts" in value:
        inner = [each for each in value["contexts"] if chosen is None or each.get("name") == chosen]
        if len(inner) != 1:
            raise ValidationError("the catalog has not exactly one such context; choose it with --context-name")
        value = inner[0]
    if isinstance(value, dict) and name is not None:
        value = {**value, "name": name}
    return read_context(value)
