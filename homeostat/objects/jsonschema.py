"""A structural schema as JSON Schema, for the engine that accepts good objects quickly.

What JSON Schema has no word for is written out: `nullable`, int-or-string, integers that end at 64 bits, embedded
resources, Go's patterns, boolean `exclusiveMinimum`, and that Kubernetes asks nothing more of a `null` than to be
allowed and listed. Unique list items are `listtypes.py`'s.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jsonschema_rs

from homeostat.objects.formats import Check, format_check
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.pattern import matcher, translate
from homeostat.objects.schema import Schema
from homeostat.objects.structural import schema_of

INT64_LOWEST, INT64_HIGHEST = -(2**63), 2**63 - 1

_PLAIN = ("multipleOf", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_EMBEDDED: JsonObject = {
    "required": ["apiVersion", "kind"],
    "properties": {
        "apiVersion": {"type": "string", "minLength": 1, "pattern": "^[^/]*(/[^/]*)?$"},
        "kind": {"type": "string", "maxLength": 63, "pattern": "^[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?$"},
        "metadata": {"type": "object"},
    },
}


def accepter(schema: Schema) -> Callable[[Json], bool]:
    """Tells whether a value fits the schema, list types aside; `ValueError` if the schema itself is not sound."""
    formats: dict[str, Check] = {}
    definitions: dict[str, JsonObject] = {}
    translated = _translate(schema, definitions, formats)
    if definitions:
        translated["definitions"] = definitions
    try:
        return jsonschema_rs.Draft7Validator(
            translated, formats=formats, validate_formats=True, pattern_options=jsonschema_rs.RegexOptions()
        ).is_valid
    except jsonschema_rs.ValidationError as error:
        raise ValueError(str(error)) from error


def _translate(node: Schema, definitions: dict[str, JsonObject], formats: dict[str, Check]) -> JsonObject:
    """Named nodes may refer to themselves and become definitions; the others are written in place."""
    if not node.name:
        return _written(node, definitions, formats)
    if node.name not in definitions:
        definitions[node.name] = {}
        definitions[node.name].update(_written(node, definitions, formats))
    return {"$ref": f"#/definitions/{node.name}"}


def _written(node: Schema, definitions: dict[str, JsonObject], formats: dict[str, Check]) -> JsonObject:
    out: JsonObject = {word: node.constraints[word] for word in _PLAIN if word in node.constraints}
    _write_type(node, out)
    _write_bounds(node, out)
    if node.constraints.get("enum"):
        out["enum"] = node.constraints["enum"]
    if pattern := node.constraints.get("pattern"):
        matcher(pattern)
        out["pattern"] = translate(pattern)
    if check := format_check(node.format):
        out["format"] = f"kubernetes-{node.format}"
        formats[out["format"]] = check
    if node.required:
        out["required"] = list(node.required)
    if node.properties:
        out["properties"] = {name: _translate(each, definitions, formats) for name, each in node.properties.items()}
    if node.additional is not None:
        out["additionalProperties"] = _translate(node.additional, definitions, formats)
    if node.items is not None:
        out["items"] = _translate(node.items, definitions, formats)
    _write_combinations(node, out, formats)
    return out


def _write_type(node: Schema, out: JsonObject) -> None:
    types = ["integer", "string"] if node.int_or_string else [node.type] if node.type else []
    if types:
        out["type"] = [*types, "null"] if node.nullable else types if len(types) > 1 else types[0]


def _write_bounds(node: Schema, out: JsonObject) -> None:
    bounds = node.constraints
    low, high = bounds.get("minimum"), bounds.get("maximum")
    if low is not None:
        out["exclusiveMinimum" if bounds.get("exclusiveMinimum") is True else "minimum"] = low
    if high is not None:
        out["exclusiveMaximum" if bounds.get("exclusiveMaximum") is True else "maximum"] = high
    if node.type == "integer" or node.int_or_string:
        out["minimum"] = max(out.get("minimum", INT64_LOWEST), INT64_LOWEST)
        out["maximum"] = min(out.get("maximum", INT64_HIGHEST), INT64_HIGHEST)


def _write_combinations(node: Schema, out: JsonObject, formats: dict[str, Check]) -> None:
    further: JsonObject = {}
    for word in ("allOf", "anyOf", "oneOf"):
        if each := node.constraints.get(word):
            further[word] = [_nested(one, formats) for one in each]
    if "not" in node.constraints:
        further["not"] = _nested(node.constraints["not"], formats)
    if not further:
        if node.embedded:
            out["anyOf"] = [{"not": {"type": "object"}}, _EMBEDDED]
        return
    if node.nullable or not (node.type or node.int_or_string):
        further = {"anyOf": [{"type": "null"}, further]}
    parts = [further, {"anyOf": [{"not": {"type": "object"}}, _EMBEDDED]}] if node.embedded else [further]
    out.update(further if not node.embedded else {"allOf": parts})


def _nested(raw: dict[str, Any], formats: dict[str, Check]) -> JsonObject:
    return _written(schema_of(raw), {}, formats)
