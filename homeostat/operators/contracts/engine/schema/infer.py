"""Infers a JSON Schema from a sample of configuration values. Pure."""

from __future__ import annotations

from homeostat.objects.json import Json, JsonObject


def infer_schema(sample: JsonObject) -> JsonObject:
    """Return a schema that the sample satisfies: every key is required, and the root has no other keys."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **_schema(sample),
        "additionalProperties": False,
    }


def _schema(value: Json) -> JsonObject:
    match value:
        case None:
            return {"type": "null"}
        case bool():
            return {"type": "boolean"}
        case int():
            return {"type": "integer"}
        case float():
            return {"type": "number"}
        case str():
            return {"type": "string"}
        case list():
            return {"type": "array", **_items(value)}
        case dict():
            properties = {key: _schema(item) for key, item in value.items()}
            return {"type": "object", "properties": properties, "required": sorted(properties)}
    return {}


def _items(values: list[Json]) -> JsonObject:
    """Return one schema for all items; none if they differ."""
    schemas: list[JsonObject] = []
    for each in map(_schema, values):
        if each not in schemas:
            schemas.append(each)
        if len(schemas) > 1:
            return {}
    return {"items": schemas[0]} if schemas else {}
