"""A structural schema as JSON Schema, for the engine that accepts valid objects quickly.

Keywords that JSON Schema does not have are translated: `nullable`, int-or-string, integers that end at 64 bits,
embedded resources, Go's patterns, boolean `exclusiveMinimum`, and that Kubernetes checks a `null` only against
`nullable` and `enum`. `list_types.py` checks unique list items.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jsonschema_rs

from homeostat.cel.regex import SLIGHT_WEIGHT, PatternError, compile_pattern
from homeostat.objects.json import Json, JsonObject, has_more_values
from homeostat.objects.schema.formats import Check, format_check
from homeostat.objects.schema.openapi import schema_of
from homeostat.objects.schema.pattern import fits
from homeostat.objects.schema.schema import Schema

INT64_LOWEST, INT64_HIGHEST = -(2**63), 2**63 - 1

_MOST_NODES = 20_000
_MOST_VALUES = 12_000
"""Values of the translated schema. The engine compiles them in one step that holds the interpreter lock: 1 us each."""
_MOST_PATTERNS = 500
_MOST_WEIGHT = 100
"""How many patterns the engine compiles itself, all at once; the others are compiled when they are first needed."""

_SIZED = ("Length", "Items", "Properties")
_EMBEDDED: JsonObject = {
    "required": ["apiVersion", "kind"],
    "properties": {
        "apiVersion": {"type": "string", "minLength": 1, "pattern": "^[^/]*(/[^/]*)?$"},
        "kind": {"type": "string", "maxLength": 63, "pattern": "^[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?$"},
        "metadata": {"type": "object"},
    },
}


class _Translation:
    """What the translation has produced so far: checks that the engine calls back as formats, and counts."""

    __slots__ = ("formats", "has_weight", "inlined", "nodes")

    def __init__(self) -> None:
        self.formats: dict[str, Check] = {}
        self.inlined = 0
        self.nodes = 0
        self.has_weight = False


class Accepter(NamedTuple):
    accepts: Callable[[Json], bool]
    """Checks whether a value matches the schema, except for list types."""
    may_take_long: bool
    """Whether long texts take long to check; the engine cannot be interrupted."""


def accepter(schema: Schema) -> Accepter:
    """`ValueError` if the schema is invalid, or so large that compiling it would block the event loop."""
    state = _Translation()
    definitions: dict[str, JsonObject] = {}
    try:
        translated = _translate(schema, definitions, state)
    except PatternError as error:
        raise ValueError(str(error)) from error
    if definitions:
        translated["definitions"] = definitions
    if has_more_values(translated, _MOST_VALUES):
        raise ValueError(f"the schema has more than {_MOST_VALUES} values")
    try:
        validator = jsonschema_rs.Draft202012Validator(
            translated, formats=state.formats, validate_formats=True, pattern_options=jsonschema_rs.RegexOptions()
        )
        return Accepter(validator.is_valid, state.has_weight)
    except jsonschema_rs.ValidationError as error:
        raise ValueError(str(error)) from error


def _translate(node: Schema, definitions: dict[str, JsonObject], state: _Translation) -> JsonObject:
    """Named nodes may be recursive and become definitions; the others are inlined."""
    if not node.name:
        return _written(node, definitions, state)
    if node.name not in definitions:
        definitions[node.name] = {}
        definitions[node.name].update(_written(node, definitions, state))
    return {"$ref": f"#/definitions/{node.name}"}


def _written(node: Schema, definitions: dict[str, JsonObject], state: _Translation) -> JsonObject:
    state.nodes += 1
    if state.nodes > _MOST_NODES:
        raise ValueError(f"the schema has more than {_MOST_NODES} parts")
    out: JsonObject = {}
    _write_sizes(node, out)
    _write_type(node, out)
    _write_bounds(node, out)
    if node.constraints.get("enum"):
        out["enum"] = node.constraints["enum"]
    if check := format_check(node.format):
        out["format"] = f"kubernetes-{node.format}"
        state.formats[out["format"]] = check
    if pattern := node.constraints.get("pattern"):
        _write_pattern(pattern, out, state)
    if node.required:
        out["required"] = list(node.required)
    if node.properties:
        out["properties"] = {name: _translate(each, definitions, state) for name, each in node.properties.items()}
    if node.additional is not None:
        out["additionalProperties"] = _translate(node.additional, definitions, state)
    if node.items is not None:
        out["items"] = _translate(node.items, definitions, state)
    _write_combinations(node, out, state)
    return out


def _write_pattern(pattern: str, out: JsonObject, state: _Translation) -> None:
    read = compile_pattern(pattern)
    state.has_weight = state.has_weight or read.weight > SLIGHT_WEIGHT
    if read.weight <= _MOST_WEIGHT and state.inlined < _MOST_PATTERNS:
        state.inlined += 1
        out["pattern"] = read.rust
        return
    check = state.formats.get(out.get("format", ""))
    out["format"] = f"{out.get('format', '')} {pattern}"
    state.formats[out["format"]] = lambda text: fits(pattern, text) and (check is None or check(text))


def _write_type(node: Schema, out: JsonObject) -> None:
    types = ["integer", "string"] if node.int_or_string else [node.type] if node.type else []
    if types:
        out["type"] = [*types, "null"] if node.nullable else types if len(types) > 1 else types[0]


def _write_sizes(node: Schema, out: JsonObject) -> None:
    """Kubernetes takes negative sizes, which JSON Schema does not have: as a maximum, nothing is small enough."""
    for word in _SIZED:
        least, most = node.constraints.get(f"min{word}"), node.constraints.get(f"max{word}")
        if most is not None and most < 0:
            least, most = 1, 0
        if least is not None and least > 0:
            out[f"min{word}"] = least
        if most is not None:
            out[f"max{word}"] = most


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
    step = bounds.get("multipleOf")
    if step is not None and step > 0:
        out["multipleOf"] = step
    elif step is not None:  # to Kubernetes, no number is a multiple of it
        out["minimum"], out["maximum"] = 1, 0


def _write_combinations(node: Schema, out: JsonObject, state: _Translation) -> None:
    further: JsonObject = {}
    for word in ("allOf", "anyOf", "oneOf"):
        if each := node.constraints.get(word):
            further[word] = [_nested(one, state) for one in each]
    if "not" in node.constraints:
        further["not"] = _nested(node.constraints["not"], state)
    if not further:
        if node.embedded:
            out["anyOf"] = [{"not": {"type": "object"}}, _EMBEDDED]
        return
    if node.nullable or not (node.type or node.int_or_string):
        further = {"anyOf": [{"type": "null"}, further]}
    parts = [further, {"anyOf": [{"not": {"type": "object"}}, _EMBEDDED]}] if node.embedded else [further]
    out.update(further if not node.embedded else {"allOf": parts})


def _nested(raw: dict[str, Any], state: _Translation) -> JsonObject:
    return _written(schema_of(raw), {}, state)
