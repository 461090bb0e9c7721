"""`homeostat sync context add`: adds a context to the catalog."""

from __future__ import annotations

import sys

import click

from homeostat.cli.sync.console.flags import CONTENT_TYPE, CONTEXT
from homeostat.cli.sync.console.payloads import read_input
from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.objects.json import JsonObject
from homeostat.operators.sync.context.catalog import Catalog, catalog_of
from homeostat.operators.sync.context.document import check_addresses, check_unmasked, read_context
from homeostat.operators.sync.engine.errors import ValidationError


@click.command("add", short_help="Add a context.")
@click.argument("name", required=False)
@CONTEXT
@CONTENT_TYPE
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
        found, credentials = read_context(_asked_context(name)), list[JsonObject]()
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
    check_addresses(found)
    return found, credentials


def _asked_context(name: str | None) -> JsonObject:
    """Nobody types a secret here: the context names the variable of the environment that holds it."""
    name = name or _asked("Name of the context")
    directory = _asked("Directory of the repository")
    kind = _asked("Kind of the repository", choices=("git", "filesystem"), default="git")
    repository = {"git": {"local": {"baseDir": directory}}} if kind == "git" else {kind: {"baseDir": directory}}
    context: JsonObject = {"name": name, "repository": repository}
    if url := _asked("Address of the managed server (empty for none)", default=""):
        context["managedService"] = {"http": {"url": url, "auth": _auth()}}
    return context


def _auth() -> JsonObject:
    variable = _asked("Variable with the value of its Authorization header (empty for none)", default="")
    if not variable:
        return {"none": {}}
    return {"customHeaders": [{"header": "Authorization", "value": f"${{{variable.strip('${}')}}}"}]}


def _asked(text: str, *, default: str | None = None, choices: tuple[str, ...] | None = None) -> str:
    kind = click.Choice(choices) if choices else None
    return str(click.prompt(text, default=default, type=kind, show_default=bool(default), err=True)).strip()
