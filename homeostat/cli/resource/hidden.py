"""Hides passwords of resources before they are printed: values with `format: password` in the schema."""

from __future__ import annotations

from collections.abc import Sequence

from homeostat.cli.console.failure import Failure
from homeostat.cli.type.stored import list_types
from homeostat.client.base import Client
from homeostat.objects.errors import ApiError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import Kind
from homeostat.operators.actions.types.naming import resource_kind
from homeostat.operators.actions.types.passwords import HIDDEN, PasswordFields, password_fields


async def without_passwords(client: Client, objects: Sequence[JsonObject]) -> list[JsonObject]:
    """A user who may not read types gets the resources as the server sends them."""
    if not objects:
        return []
    try:
        types = [each.type.spec for each in await list_types(client)]
    except (ApiError, Failure):
        return list(objects)
    kinds = {_key(resource_kind(each)): password_fields(each.schema) for each in types}
    return [_hidden(each, kinds.get((each["kind"], each["apiVersion"].rpartition("/")[2]))) for each in objects]


def _key(kind: Kind) -> tuple[str, str]:
    return kind.kind, kind.version


def _hidden(obj: JsonObject, passwords: PasswordFields | None) -> JsonObject:
    if not passwords:
        return obj
    shown = {**obj, "spec": passwords.hidden(obj.get("spec") or {})}
    run = (obj.get("status") or {}).get("run") or {}
    if "declaration" in run:
        # The run of another system keeps the whole spec, as JSON.
        shown["status"] = {**obj["status"], "run": {**run, "declaration": HIDDEN}}
    return shown
