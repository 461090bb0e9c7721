"""`homeostat diff`: what `homeostat apply` of the same files would change, as the server computes it.

Exit codes as those of `kubectl diff`: 0 no differences, 1 differences, more for an error.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from difflib import unified_diff
from functools import wraps
from itertools import zip_longest
from typing import Any, Final

import click

from homeostat.cli.console.colour import paint
from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.failure import Failure, Refusals
from homeostat.cli.console.output import title
from homeostat.cli.files.manifests import files_option, read_manifests
from homeostat.cli.objects.apply import TAKE_OVER, apply_query, compared_fields, is_field_conflict
from homeostat.cli.objects.kinds import Kinds, discover
from homeostat.client.base import APPLY_PATCH
from homeostat.client.passwords import kind_of, passwords_of
from homeostat.objects import yaml
from homeostat.objects.errors import ApiError, NotFoundError
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.meta import LAST_APPLIED
from homeostat.objects.schema.passwords import NO_PASSWORDS, PasswordFields, without_copies

DIFFERENT: Final = 1
FAILED: Final = 2
_COLOURS: Final = {"+": "green", "-": "red", "@": "cyan"}
_SECRET_FIELDS: Final = ("data", "stringData")


class _DiffFailure(Failure):
    exit_code = FAILED


def _failing_with_2(function: Callable[..., None]) -> Callable[..., None]:
    """1 means differences, so an error needs another code."""

    @wraps(function)
    def command(**arguments: Any) -> None:
        try:
            function(**arguments)
        except Failure as error:
            if error.exit_code == DIFFERENT:
                raise _DiffFailure(error.message) from error
            raise

    return command


@click.command(short_help="Show what apply would change.")
@files_option(is_required=True)
@click.option("--force-conflicts", is_flag=True, help="Compare as if apply took over fields of other managers.")
@_failing_with_2
@connected
async def command(connection: Connection, files: tuple[str, ...], force_conflicts: bool) -> None:
    """Show what `homeostat apply` of the same files would change; change nothing.

    The server computes the result, with its defaults and admission. Values of Secrets, and of fields that a schema
    marks with `format: password`, are not shown, only whether they differ. Exit codes: 0 no differences, 1 differences,
    2 or more an error.

    \b
    Examples:
      homeostat diff -f web.yaml
      homeostat diff -f manifests/ || homeostat apply -f manifests/
    """
    manifests = read_manifests(files)
    kinds, passwords = await discover(connection.client), await passwords_of(connection.client, manifests)
    refusals, is_different = Refusals(), False
    for obj in manifests:
        try:
            before, after = await _versions(connection, kinds, obj, force=force_conflicts)
        except ApiError as error:
            refusals.add(f"{title(obj)}: {error.message}{TAKE_OVER if is_field_conflict(error) else ''}")
        except Failure as error:
            refusals.add(f"{title(obj)}: {error.message}")
        else:
            lines = list(diff_lines(title(obj), before, after, passwords.get(kind_of(obj), NO_PASSWORDS)))
            is_different = is_different or bool(lines)
            for line in lines:
                sys.stdout.write(paint(line, _COLOURS.get(line[0], ""), sys.stdout) + "\n")
    if refusals.count:
        raise click.exceptions.Exit(FAILED)
    if is_different:
        raise click.exceptions.Exit(DIFFERENT)


async def _versions(
    connection: Connection, kinds: Kinds, obj: JsonObject, *, force: bool
) -> tuple[JsonObject | None, JsonObject]:
    """The stored object, None if there is none, and the object as it would be after an apply."""
    kind = kinds.require(obj["apiVersion"], obj["kind"])
    path = kind.path(obj["metadata"].get("namespace") or connection.namespace, obj["metadata"]["name"])
    try:
        before = await connection.client.get(path)
    except NotFoundError:
        before = None
    query = apply_query(dry_run=True, force=force)
    after = await connection.client.request("PATCH", path, query, body=obj, content_type=APPLY_PATCH)
    return before, after


def diff_lines(
    name: str, before: JsonObject | None, after: JsonObject, passwords: PasswordFields = NO_PASSWORDS
) -> Iterator[str]:
    """A unified diff of YAML; nothing if the objects are equal."""
    if before is None:
        # The server makes new ones at every dry run.
        dropped = {"uid", "creationTimestamp"}
        after = {**after, "metadata": {key: value for key, value in after["metadata"].items() if key not in dropped}}
    old, new = (compared_fields(each) if each is not None else None for each in (before, after))
    old, new = _masked(old, new, "before"), _masked(new, old, "after")
    if passwords:
        old, new = _unmarked(old, new, passwords, "before"), _unmarked(new, old, passwords, "after")
    yield from unified_diff(_text(old), _text(new), f"live/{name}", f"applied/{name}", lineterm="")


def _text(obj: JsonObject | None) -> list[str]:
    return yaml.dump(obj).decode().splitlines() if obj is not None else []


def _masked(obj: JsonObject | None, other: JsonObject | None, mark: str) -> JsonObject | None:
    """Without the values of a Secret; one that differs from the other object's has a mark."""
    if obj is None or (obj.get("apiVersion"), obj.get("kind")) != ("v1", "Secret"):
        return obj
    metadata = dict(obj["metadata"])
    if LAST_APPLIED in metadata.get("annotations", {}):
        metadata["annotations"] = {**metadata["annotations"], LAST_APPLIED: "***"}
    masked = {**obj, "metadata": metadata}
    for field in _SECRET_FIELDS:
        if isinstance(values := obj.get(field), dict):
            others = (other or {}).get(field) or {}
            masked[field] = {key: _mask(value, others.get(key), mark) for key, value in values.items()}
    return masked


def _unmarked(
    obj: JsonObject | None, other: JsonObject | None, passwords: PasswordFields, mark: str
) -> JsonObject | None:
    """Without the values of the marked fields, and without their copies."""
    return None if obj is None else without_copies(_shown(obj, other, passwords, mark))


def _shown(value: Json, other: Json, passwords: PasswordFields, mark: str) -> Any:
    if passwords.is_password:
        return value if value in (None, "") else _mask(value, other, mark)
    if isinstance(value, dict):
        others = other if isinstance(other, dict) else {}
        members = ((name, each, passwords.below(name)) for name, each in value.items())
        return {
            name: each if below is None else _shown(each, others.get(name), below, mark)
            for name, each, below in members
        }
    if isinstance(value, list) and passwords.items is not None:
        pairs = zip_longest(value, (other if isinstance(other, list) else [])[: len(value)])
        return [_shown(each, former, passwords.items, mark) for each, former in pairs]
    return value


def _mask(value: Json, other: Json, mark: str) -> str:
    """With a mark if the other object has another value."""
    return "***" if other is None or value == other else f"*** ({mark})"
