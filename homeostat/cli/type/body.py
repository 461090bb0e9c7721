"""Converts REST bodies of resource types and resources to objects. Pure.

    {"name": "DatabaseCluster", "version": "v1", "schema": {...}}                              a type
    {"name": "orders", "resource_type_name": "DatabaseCluster", "spec": {...}, ...}            a resource

Other values are returned unchanged. A list of bodies, such as an answer of the API, is accepted too: fields about state
are ignored, and so are resources that are being deleted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from homeostat.cli.console.failure import Failure
from homeostat.objects.errors import quoted
from homeostat.objects.json import Json, JsonObject
from homeostat.operators.actions.api import METADATA, RESOURCE_TYPE, RESOURCES
from homeostat.operators.actions.types.naming import kind_name, type_object_name, version_name

_ACTION: Final = frozenset({"action_plugin", "plugin_config"})
_TYPE: Final = (
    frozenset({"name", "version", "schema", "description", "metadata", "status", "resource_fields"}) | _ACTION
)
_RESOURCE: Final = frozenset({"name", "resource_type_name", "resource_type_version", "spec", "metadata"}) | _ACTION
_TYPE_STATE: Final = frozenset({"id", "created_at", "updated_at", "deleted_at"})
_RESOURCE_STATE: Final = _TYPE_STATE | {
    "conditions",
    "finalizers",
    "generation",
    "last_reconcile_time",
    "next_reconcile_time",
    "observed_generation",
    "outputs",
    "retry_count",
    "status",
    "status_message",
}


def adopted(value: Json) -> Json:
    if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        items = [adopted(each) for each in value if not each.get("deleted_at")]
        return {"apiVersion": "v1", "kind": "List", "items": items}
    if not isinstance(value, dict) or "apiVersion" in value or "kind" in value:
        return value
    if "resource_type_name" in value:
        return _resource(value)
    return _type(value) if "name" in value and "schema" in value else value


def _type(body: JsonObject) -> JsonObject:
    _check(body, _TYPE, _TYPE_STATE, "a resource type")
    name, version = _text(body, "name"), _text(body, "version", "v1")
    spec: JsonObject = {"name": name, "version": version, "schema": body["schema"]}
    if body.get("description"):
        spec["description"] = body["description"]
    if body.get("status") == "deprecated":
        spec["isDeprecated"] = True
    if action := _action(body):
        spec["action"] = action
    if body.get("resource_fields") is not None:
        spec["resourceFields"] = body["resource_fields"]
    return {
        "apiVersion": RESOURCE_TYPE.kind.api_version,
        "kind": RESOURCE_TYPE.kind.kind,
        "metadata": {"name": type_object_name(name, version), **_annotations(body)},
        "spec": spec,
    }


def _resource(body: JsonObject) -> JsonObject:
    _check(body, _RESOURCE, _RESOURCE_STATE, "a resource")
    if "id" in body and "spec" not in body:
        # Some APIs do not return the spec; going on would declare an empty one.
        raise Failure(f"the resource {quoted(body.get('name'))} comes without its spec")
    kind, version = _text(body, "resource_type_name"), _text(body, "resource_type_version", "v1")
    obj: JsonObject = {
        "apiVersion": f"{RESOURCES}/{version_name(version)}",
        "kind": kind_name(kind),
        "metadata": {"name": _text(body, "name"), **_annotations(body)},
        "spec": body.get("spec") or {},
    }
    if action := _action(body):
        obj["action"] = action
    return obj


def _action(body: JsonObject) -> JsonObject:
    action = {"plugin": body.get("action_plugin"), "config": body.get("plugin_config")}
    return {word: value for word, value in action.items() if value}


def _annotations(body: JsonObject) -> JsonObject:
    return {"annotations": {METADATA: quoted(body["metadata"])}} if body.get("metadata") else {}


def _check(body: Mapping[str, Json], known: frozenset[str], state: frozenset[str], what: str) -> None:
    if unknown := sorted(body.keys() - known - state):
        raise Failure(f'{what} has no "{unknown[0]}"; it has: {", ".join(sorted(known))}')


def _text(body: JsonObject, word: str, default: str = "") -> str:
    value = body.get(word) or default
    if not isinstance(value, str) or not value:
        raise Failure(f'"{word}" is {quoted(body.get(word))}, and a name was expected')
    return value
