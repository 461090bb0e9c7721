"""The manifest that somebody starts from: the required fields of a kind, from the OpenAPI document of the server. Pure.

A field that the schema does not require is left out, but for `spec`, which nearly every kind needs, and `data`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from homeostat.objects.json import Json, JsonObject
from homeostat.objects.kind import Kind

_PREFIX: Final = "#/components/schemas/"
_OWN: Final = frozenset({"apiVersion", "kind", "metadata", "status"})
_WANTED: Final = frozenset({"spec", "data"})
_DEEPEST: Final = 12
_MOST_STEPS: Final = 8
_EMPTY: Final[dict[str, Json]] = {"string": "", "integer": 0, "number": 0, "boolean": False, "array": []}


class _Components(msgspec.Struct, frozen=True):
    schemas: dict[str, Any] = {}


class _Document(msgspec.Struct, frozen=True):
    components: _Components = _Components()


_document = msgspec.json.Decoder(_Document)


def document_path(kind: Kind) -> str:
    return f"/openapi/v3/apis/{kind.api_version}" if kind.group else f"/openapi/v3/api/{kind.version}"


def blank(kind: Kind, namespace: str) -> JsonObject:
    """The manifest of a kind whose schema is unknown."""
    metadata = {"name": "", **({"namespace": namespace or "default"} if kind.is_namespaced else {})}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}


def template(document: bytes, kind: Kind, namespace: str) -> JsonObject:
    """`document` is that of the kind's group and version; `msgspec.MsgspecError` if it is none."""
    schemas = _document.decode(document).components.schemas
    wanted = {"group": kind.group, "version": kind.version, "kind": kind.kind}
    named = (each for each in schemas.values() if isinstance(each, dict))
    found = next((each for each in named if wanted in each.get("x-kubernetes-group-version-kind", ())), {})
    fields = _fields(found, schemas, 0)
    return {**blank(kind, namespace), **{name: each for name, each in fields.items() if name not in _OWN}}


def _fields(schema: Mapping[str, Any], schemas: Mapping[str, Any], depth: int) -> JsonObject:
    required = set(schema.get("required") or ()) | _WANTED
    properties: Mapping[str, Any] = schema.get("properties") or {}
    return {name: _value(each, schemas, depth + 1) for name, each in properties.items() if name in required}


def _value(schema: Mapping[str, Any], schemas: Mapping[str, Any], depth: int) -> Json:
    whole = _resolved(schema, schemas)
    if whole.get("default") not in (None, {}):
        return whole["default"]
    if whole.get("enum"):
        return whole["enum"][0]
    if whole.get("type") == "array" and depth < _DEEPEST:
        items = _resolved(whole.get("items") or {}, schemas)
        return [_value(items, schemas, depth + 1)] if items.get("required") else []
    if "type" not in whole or whole["type"] == "object":
        # A schema without a type is an int-or-string, or anything.
        is_text = bool(whole.get("x-kubernetes-int-or-string") or whole.get("format") == "int-or-string")
        return "" if is_text else _fields(whole, schemas, depth) if depth < _DEEPEST else {}
    return max(0, whole.get("minimum", 0)) if whole["type"] == "integer" else _EMPTY.get(whole["type"], "")


def _resolved(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a schema refers to. The default beside a reference stays."""
    own = {"default": schema["default"]} if schema.get("default") else {}
    for _ in range(_MOST_STEPS):
        parts = (schema, *(each for each in schema.get("allOf") or () if isinstance(each, dict)))
        reference = next((each["$ref"] for each in parts if "$ref" in each), None)
        if reference is None:
            break
        schema = schemas.get(str(reference).removeprefix(_PREFIX)) or {}
    return {**schema, **own}
