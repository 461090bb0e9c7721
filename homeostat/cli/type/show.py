"""`homeostat type show`: describes a resource type."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

import click

from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.failure import one_line
from homeostat.cli.console.output import is_table, output_option, print_object, without_managed_fields
from homeostat.cli.console.table import Table
from homeostat.cli.resource.complete import complete_types
from homeostat.cli.resource.credentials import shown_value
from homeostat.cli.type.stored import FoundType, list_types, one_type
from homeostat.objects import yaml
from homeostat.objects.conditions import READY, find
from homeostat.objects.errors import quoted
from homeostat.objects.json import Json, JsonObject
from homeostat.operators.actions.api import ResourceTypeStatus, Retry
from homeostat.operators.actions.types.naming import resource_kind
from homeostat.operators.actions.types.spec_schema import spec_schema

_MOST_DEEP = 8
_LIMITS = ("minimum", "maximum", "minLength", "maxLength", "pattern", "format", "minItems", "maxItems")


@click.command(short_help="Describe a resource type: fields, plugin, state.")
@click.argument("word", metavar="TYPE[/VERSION]", shell_complete=complete_types)
@output_option
@connected
async def command(connection: Connection, word: str, output: str) -> None:
    """Describe a resource type: the fields of its resources, its plugin, its interval, and its state.

    \b
    Examples:
      homeostat type show DatabaseCluster
      homeostat type show databaseclusters/v1 -o yaml
    """
    found = one_type(await list_types(connection.client), word)
    if not is_table(output):
        print_object(without_managed_fields(found.obj), output)
        return
    for heading, text in _facts(found):
        if text:
            click.echo(f"{heading + ':':<14}{one_line(text)}")
    if config := found.type.spec.action.config:
        click.echo("Config:")
        click.echo(textwrap.indent(yaml.dump(shown_value("config", config)).decode(), "  "), nl=False)
    if incompatible := found.type.read_status(ResourceTypeStatus).incompatible_resources:
        click.echo("Incompatible:")
        for each in incompatible:
            click.echo(f"  {one_line(each)}")
    click.echo("Fields:")
    rows = list(_fields(spec_schema(found.type.spec.schema)[0], "spec"))
    Table(("FIELD", "TYPE", "REQUIRED", "DEFAULT", "DESCRIPTION"), indent=2).print(rows)


def _facts(found: FoundType) -> Iterable[tuple[str, str]]:
    spec, kind = found.type.spec, resource_kind(found.type.spec)
    ready = find(found.type.read_status(ResourceTypeStatus).conditions, READY)
    retry, keep = spec.retry, spec.history
    yield "Name", spec.name
    yield "Version", f"{spec.version}{' (deprecated)' if spec.is_deprecated else ''}"
    yield "Description", spec.description
    yield "Kind", f"{kind.kind} ({kind.api_version})"
    yield "Words", ", ".join(sorted(kind.words()))
    yield "Ready", f"{ready.status}: {ready.reason}: {ready.message}" if ready is not None else "Unknown"
    yield "Plugin", spec.action.plugin or "none; each resource names its own"
    yield "Interval", _seconds(spec.interval_seconds)
    yield "Retries", _retries(retry)
    yield "History", f"{keep.entries} entries a resource, for {keep.max_age_days} days"


def _seconds(seconds: int | None) -> str:
    return f"{seconds} s" if seconds is not None else "the operator's default"


def _retries(retry: Retry) -> str:
    first = [f"first after {retry.base_seconds} s"] if retry.base_seconds is not None else []
    last = [f"at most {retry.max_seconds} s apart"] if retry.max_seconds is not None else []
    return ", ".join((*first, *last)) or _seconds(None)


def _fields(schema: JsonObject, path: str, depth: int = 0, *, is_required: bool = True) -> Iterator[list[Json]]:
    """The schema as rows, one for each field; items of a list are `[]`, additional members `*`."""
    default = quoted(schema["default"]) if "default" in schema and depth else ""
    described = " ".join(filter(None, (str(schema.get("description") or ""), _limits(schema))))
    yield [path, _type(schema), "yes" if is_required else "", default, described]
    if depth >= _MOST_DEEP:
        return
    wanted = schema.get("required") or ()
    for name, each in (schema.get("properties") or {}).items():
        yield from _fields(each, f"{path}.{name}", depth + 1, is_required=name in wanted)
    if isinstance(schema.get("items"), dict) and schema["items"].get("properties"):
        yield from _fields(schema["items"], f"{path}[]", depth + 1, is_required=False)
    if isinstance(schema.get("additionalProperties"), dict):
        yield from _fields(schema["additionalProperties"], f"{path}.*", depth + 1, is_required=False)


def _type(schema: JsonObject) -> str:
    name = str(schema.get("type") or ("integer or string" if schema.get("x-kubernetes-int-or-string") else "any"))
    if name == "array" and isinstance(schema.get("items"), dict):
        return f"list of {_type(schema['items'])}"
    return name


def _limits(schema: JsonObject) -> str:
    """Restrictions of the value, in the words of JSON Schema."""
    limits = [f"one of {', '.join(map(quoted, schema['enum']))}"] if schema.get("enum") else []
    limits += [f"{word} {schema[word]}" for word in _LIMITS if word in schema]
    return f"({'; '.join(limits)})" if limits else ""
