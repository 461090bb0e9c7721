"""`homeostat sync context add`: adds a context to the catalog."""

from __future__ import annotations

import sys

import click

from homeostat.cli.sync.console.payloads import read_input
from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.cli.sync.context.ask import asked_context
from homeostat.objects.json import JsonObject
from homeostat.operators.sync.context.catalog import Catalog, catalog_of
from homeostat.operators.sync.context.document import check_unmasked, read_context
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

    The input is a context, or a catalog with one: then its credentials are added, too. Without input, a terminal is
    asked for the parts of a context.

    \b
    Examples:
      homeostat sync context add -f context.yaml
    """
    if payload is None and sys.stdin.isatty():
        found, credentials = read_context(asked_context(name)), list[JsonObject]()
    else:
        found, credentials = await given_context(payload, content_type, name, context_name)

    def added(catalog: Catalog) -> Catalog:
        more = catalog.added(found).with_credentials(credentials)
        return more.used(found["name"]) if set_current else more

    await run.change_catalog(added)


async def given_context(
    payload: str | None, content_type: str = "", name: str | None = None, chosen: str | None = None
) -> tuple[JsonObject, list[JsonObject]]:
    """A context from input, which may be one of a catalog, and the credentials beside it."""
    if payload is None:
        raise ValidationError("a context is required; pass -f FILE or -f -")
    value = (await read_input(payload, content_type)).value
    credentials = list[JsonObject]()
    if isinstance(value, dict) and "contexts" in value:
        catalog = catalog_of(value, "the input")
        inner = [each for each in catalog.contexts if chosen is None or each["name"] == chosen]
        if len(inner) != 1:
            raise ValidationError("the catalog has not exactly one such context; choose it with --context-name")
        value, credentials = inner[0], list(catalog.credentials)
    if isinstance(value, dict) and name is not None:
        value = {**value, "name": name}
    found = read_context(value)
    check_unmasked(found)
    return found, credentials
