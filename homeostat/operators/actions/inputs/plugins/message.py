"""Reads messages of a queue: which resource is declared or withdrawn. Pure.

    {"event": "created", "name": "orders", "type": "DatabaseCluster", "version": "v1", "spec": {"replicas": 3}}
    {"event": "updated", "resource": {"apiVersion": "resources.homeostat.dev/v1", "kind": "DatabaseCluster", ...}}
    {"event": "deleted", "name": "orders", "type": "DatabaseCluster"}

`created` and `updated` mean the same: the resource is declared.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from homeostat.objects.errors import BadRequestError, quoted
from homeostat.objects.json import JsonObject, decode_object
from homeostat.operators.actions.inputs.plugins.declaration import declaration_of
from homeostat.operators.actions.inputs.plugins.reading import Declaration, RefusedError
from homeostat.operators.actions.types.naming import kind_name

LARGEST: Final = 1 << 20
_EVENTS: Final = ("created", "updated", "deleted")
_ALIASES: Final = {"type": "resource_type_name", "version": "resource_type_version"}


class Withdrawal(NamedTuple):
    kind: str
    name: str


def read_message(data: bytes, source: str, *, namespace: str) -> Declaration | Withdrawal:
    """Raises `RefusedError` for an invalid message."""
    if len(data) > LARGEST:
        raise RefusedError(f"the message has {len(data)} bytes; the limit is {LARGEST}")
    try:
        message = decode_object(data)
    except BadRequestError as error:
        raise RefusedError(error.message) from error
    event = message.pop("event", None)
    if event not in _EVENTS:
        raise RefusedError(f'"event" is {quoted(event)[:80]}; it must be one of: {", ".join(_EVENTS)}')
    if event == "deleted":
        return _withdrawal(message)
    if "resource" in message:
        return declaration_of(message["resource"], source, namespace=namespace)
    return declaration_of(_renamed(message), source, namespace=namespace)


def _withdrawal(message: JsonObject) -> Withdrawal:
    resource = message.get("resource")
    if isinstance(resource, dict):
        metadata = resource.get("metadata")
        kind, name = resource.get("kind"), metadata.get("name") if isinstance(metadata, dict) else None
    else:
        body = _renamed(message)
        kind, name = body.get("resource_type_name"), body.get("name")
    if not isinstance(kind, str) or not isinstance(name, str) or not kind or not name:
        raise RefusedError("the message must name the type and the name of the deleted resource")
    return Withdrawal(kind_name(kind), name)


def _renamed(message: JsonObject) -> JsonObject:
    return {_ALIASES.get(word, word): value for word, value in message.items()}
