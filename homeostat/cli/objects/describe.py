"""`homeostat describe`: an object on one page, for people: metadata, fields, conditions and events."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Iterable, Sequence

import click

from homeostat.cli.completion.words import complete_targets
from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.failure import one_line
from homeostat.cli.console.table import Table
from homeostat.cli.objects.kinds import Kind, discover, with_type_meta
from homeostat.cli.objects.targets import parse_targets
from homeostat.client.base import Client
from homeostat.client.passwords import without_passwords
from homeostat.objects import yaml
from homeostat.objects.errors import ForbiddenError
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.meta import LAST_APPLIED
from homeostat.objects.time.age import epoch_of, human_duration

_ENVELOPE = frozenset({"apiVersion", "kind", "metadata"})
_SECTIONS = ("spec", "status")


@click.command(short_help="Describe an object: fields, conditions, events.")
@click.argument("words", nargs=-1, required=True, metavar="KIND [NAME]...", shell_complete=complete_targets)
@connected
async def command(connection: Connection, words: tuple[str, ...]) -> None:
    """Print all about objects: metadata, fields, conditions and events. Values of Secrets are not shown, nor
    values that a schema marks with `format: password`.

    \b
    Examples:
      homeostat describe ns default
      homeostat describe deploy/web -n shop
    """
    targets = parse_targets(await discover(connection.client), words)
    objects: list[tuple[Kind, JsonObject]] = []
    for kind, name in targets:
        path = kind.path(connection.namespace, name)
        found = [await connection.client.get(path)] if name else (await connection.client.list(path))[0]
        typed = [with_type_meta(kind, each) for each in found]
        objects += [(kind, obj) for obj in await without_passwords(connection.client, typed)]
    if not objects:
        click.echo(f"No objects found in namespace {connection.namespace}.", err=True)
    for index, (kind, obj) in enumerate(objects):
        if index:
            click.echo("\n")
        _print(kind, obj, await _events(connection.client, obj))


async def _events(client: Client, obj: JsonObject) -> list[JsonObject] | None:
    """Events of the object, oldest first; None if the caller is not allowed to list them."""
    metadata = obj["metadata"]
    path = f"/api/v1/namespaces/{metadata.get('namespace') or 'default'}/events"
    try:
        found, _ = await client.list(path, fieldSelector=f"involvedObject.uid={metadata['uid']}")
    except ForbiddenError:
        return None
    return sorted(found, key=_last_seen)


def _print(kind: Kind, obj: JsonObject, events: list[JsonObject] | None) -> None:
    now = time.time()
    for heading, values in _facts(kind, obj["metadata"], now):
        for index, value in enumerate(values):
            click.echo(f"{heading + ':' if not index else '':<14}{one_line(value)}")
    rest = [key for key in obj if key not in _ENVELOPE and key not in _SECTIONS]
    for section in (*rest, *_SECTIONS):
        _print_section(kind, section, obj.get(section))
    conditions = (obj.get("status") or {}).get("conditions")
    if isinstance(conditions, list) and conditions:
        click.echo("Conditions:")
        table = Table(["TYPE", "STATUS", "REASON", "SINCE", "MESSAGE"], indent=2)
        table.print(_condition(each, now) for each in conditions)
    _print_events(events, now)


def _facts(kind: Kind, metadata: JsonObject, now: float) -> Iterable[tuple[str, Sequence[str]]]:
    """Headings with their lines; a heading without lines is not printed."""
    annotations = {key: value for key, value in (metadata.get("annotations") or {}).items() if key != LAST_APPLIED}
    owners = [f"{each['kind']}/{each['name']}" for each in metadata.get("ownerReferences") or ()]
    deleted = metadata.get("deletionTimestamp")
    yield "Name", [metadata["name"]]
    yield "Namespace", [metadata["namespace"]] if metadata.get("namespace") else []
    yield "Kind", [f"{kind.kind} ({kind.api_version})"]
    yield "Labels", [f"{key}={value}" for key, value in (metadata.get("labels") or {}).items()]
    yield "Annotations", [f"{key}: {value}" for key, value in annotations.items()]
    yield "Owned by", owners
    yield "Finalizers", metadata.get("finalizers") or []
    yield "Created", [_when(metadata.get("creationTimestamp"), now)]
    yield "Deleted", [f"{_when(deleted, now)}, waiting for its finalizers"] if deleted else []


def _print_section(kind: Kind, name: str, value: Json) -> None:
    if name == "status" and isinstance(value, dict):
        value = {key: item for key, item in value.items() if key != "conditions"}
    if value in (None, {}, [], ""):
        return
    if not kind.group and kind.kind == "Secret" and name in {"data", "stringData"}:
        value = {key: f"{_bytes(text)} bytes" for key, text in value.items()}
    heading = f"{name[0].upper()}{name[1:]}:"
    if not isinstance(value, (dict, list)):
        click.echo(f"{heading:<14}{one_line(str(value))}")
        return
    click.echo(heading)
    click.echo(textwrap.indent(yaml.dump(value).decode(), "  "), nl=False)


def _bytes(base64: str) -> int:
    return len(base64) * 3 // 4 - base64[-2:].count("=")


def _condition(condition: JsonObject, now: float) -> list[str]:
    changed = _age(condition.get("lastTransitionTime"), now)
    texts = [str(condition.get(name) or "") for name in ("type", "status", "reason", "message")]
    return [*texts[:3], changed, texts[3]]


def _print_events(events: list[JsonObject] | None, now: float) -> None:
    if events is None:
        click.echo("Events:       forbidden")
    elif not events:
        click.echo("Events:       none")
    else:
        click.echo("Events:")
        table = Table(["TYPE", "REASON", "AGE", "FROM", "MESSAGE"], indent=2)
        table.print(_event(each, now) for each in events)


def _event(event: JsonObject, now: float) -> list[str]:
    count = event.get("count") or 1
    age = _age(_last_seen(event), now)
    source = event.get("reportingComponent") or (event.get("source") or {}).get("component") or ""
    texts = [event.get("type") or "", event.get("reason") or "", f"{age} (x{count})" if count > 1 else age]
    return [*texts, source, event.get("message") or ""]


def _last_seen(event: JsonObject) -> str:
    series = (event.get("series") or {}).get("lastObservedTime")
    created = event["metadata"].get("creationTimestamp")
    return str(series or event.get("lastTimestamp") or event.get("eventTime") or created or "")


def _when(timestamp: Json, now: float) -> str:
    return f"{timestamp} ({_age(timestamp, now)} ago)" if timestamp else "unknown"


def _age(timestamp: Json, now: float) -> str:
    at = epoch_of(timestamp)
    return "" if at is None else human_duration(now - at)
