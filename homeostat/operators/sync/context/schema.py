"""JSON Schemas for editors, of a context, of the catalog, of metadata and of a bundle's manifest. Pure."""

from __future__ import annotations

from typing import Any, Final

from homeostat.objects.json import JsonObject
from homeostat.operators.sync.context.document import SCHEMA
from homeostat.operators.sync.engine.metadata.bundle import SCHEMA as MANIFEST
from homeostat.operators.sync.engine.metadata.document import OPERATIONS
from homeostat.operators.sync.engine.payload.format import TYPES

_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
_TEXT: Final[JsonObject] = {"type": "string"}
_TEXTS: Final[JsonObject] = {"type": "array", "items": _TEXT}
_BOOL: Final[JsonObject] = {"type": "boolean"}
_TYPES: Final[dict[Any, JsonObject]] = {
    "text": _TEXT,
    str: _TEXT,
    "bool": _BOOL,
    bool: _BOOL,
    "number": {"type": "number"},
    "map": {"type": "object"},
    "any": {},
}


def schema_of(name: str) -> JsonObject:
    found = {"context": _context, "contexts": _contexts, "metadata": _metadata, "bundle": _bundle}[name]()
    return {"$schema": _DRAFT, "title": name, **found}


NAMES: Final = ("context", "contexts", "metadata", "bundle")


def _of(value: Any) -> JsonObject:
    if isinstance(value, dict):
        properties = {key: _of(item) for key, item in value.items()}
        return {"type": "object", "additionalProperties": False, "properties": properties}
    if isinstance(value, list):
        return {"type": "array", "items": _of(value[0])}
    return _TYPES[value]


def _context() -> JsonObject:
    either = [{"required": ["repository"]}, {"required": ["managedService"]}]
    return {**_of(SCHEMA), "required": ["name"], "anyOf": either}


def _contexts() -> JsonObject:
    prompt = _object(prompt=_BOOL, persistInSession=_BOOL)
    secret: JsonObject = {"anyOf": [_TEXT, prompt]}
    credential = {**_object(name=_TEXT, username=secret, password=secret), "required": ["name"]}
    return _object(
        currentContext=_TEXT,
        defaultEditor=_TEXT,
        credentials={"type": "array", "items": credential},
        contexts={"type": "array", "items": _context()},
    )


def _bundle() -> JsonObject:
    return {**_of(MANIFEST), "required": ["apiVersion", "kind", "name", "version"]}


def _metadata() -> JsonObject:
    pointers: JsonObject = {"anyOf": [_TEXT, _TEXTS]}
    step = {
        **_object(selectAttributes=pointers, excludeAttributes=pointers, jqExpression=_TEXT),
        "minProperties": 1,
        "maxProperties": 1,
    }
    steps: JsonObject = {"type": "array", "items": step}
    texts: JsonObject = {"anyOf": [{"type": "object"}, {"type": "array", "items": {"type": "object"}}]}
    assertion = _object(message=_TEXT, jq=_TEXT)
    checks = _object(requiredAttributes=_TEXTS, assertions={"type": "array", "items": assertion}, schemaRef=_TEXT)
    operation: JsonObject = {
        "type": "object",
        "properties": {
            "method": _TEXT,
            "path": _TEXT,
            "query": texts,
            "headers": texts,
            "body": {},
            "transforms": steps,
            "validate": checks,
        },
    }
    resource: JsonObject = {
        "type": "object",
        "properties": {
            "id": _TEXT,
            "alias": _TEXT,
            "requiredAttributes": _TEXTS,
            "remoteCollectionPath": _TEXT,
            "format": {"enum": [*sorted(TYPES), "any"]},
            "defaults": {"type": "object"},
            "secret": _BOOL,
            "secretAttributes": _TEXTS,
            "externalizedAttributes": {"type": "array", "items": {"type": "object"}},
        },
    }
    operations = _object(defaults=_object(transforms=steps), **dict.fromkeys(OPERATIONS, operation))
    return _object(selector=_object(descendants=_BOOL), resource=resource, operations=operations)


def _object(**properties: JsonObject) -> JsonObject:
    return {"type": "object", "additionalProperties": False, "properties": properties}
