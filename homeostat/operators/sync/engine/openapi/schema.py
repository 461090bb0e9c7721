"""Whether a body fits the schema of an OpenAPI document. Pure.

The subset that such documents use: type, nullable, enum, required, properties, additionalProperties, items, allOf,
anyOf, oneOf. Anything else is accepted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from homeostat.objects.json import Json, JsonObject
from homeostat.operators.sync.engine.openapi.document import OpenApi
from homeostat.operators.sync.engine.payload.value import is_same

_DEEPEST: Final = 100
_MOST: Final = 10


def problems(document: OpenApi, schema: JsonObject, value: Json) -> list[str]:
    """What is wrong, each with the place of it; empty if the value fits."""
    found = list[str]()
    for each in _check(document, schema, value, "", 0):
        found.append(each)
        if len(found) >= _MOST:
            break
    return found


def _check(document: OpenApi, schema: JsonObject, value: Json, at: str, depth: int) -> Iterator[str]:
    if depth > _DEEPEST:
        return
    rule = document.resolve(schema)
    where = at or "the body"
    if value is None and rule.get("nullable"):
        return
    if (kind := rule.get("type")) is not None and not _is_of(value, kind):
        yield f"{where} is not of type {kind}"
        return
    if "enum" in rule and not any(is_same(value, each) for each in rule["enum"]):
        yield f"{where} is not one of the allowed values"
    if isinstance(value, dict):
        yield from _object(document, rule, value, at, depth)
    if isinstance(value, list) and isinstance(rule.get("items"), dict):
        for place, each in enumerate(value):
            yield from _check(document, rule["items"], each, f"{at}/{place}", depth + 1)
    yield from _combined(document, rule, value, at, depth)


def _object(document: OpenApi, rule: JsonObject, value: JsonObject, at: str, depth: int) -> Iterator[str]:
    for name in rule.get("required", ()):
        if name not in value:
            yield f"{at}/{name} is required"
    known = rule.get("properties", {})
    for name, each in known.items():
        if name in value:
            yield from _check(document, each, value[name], f"{at}/{name}", depth + 1)
    more = rule.get("additionalProperties", True)
    others = value.keys() - known.keys()
    if more is False:
        others -= set(document.properties(rule))
        yield from (f"{at}/{name} is not known to the schema" for name in sorted(others))
    elif isinstance(more, dict):
        for name in sorted(others):
            yield from _check(document, more, value[name], f"{at}/{name}", depth + 1)


def _combined(document: OpenApi, rule: JsonObject, value: Json, at: str, depth: int) -> Iterator[str]:
    for each in rule.get("allOf", ()):
        yield from _check(document, each, value, at, depth + 1)
    for word, least, most in (("anyOf", 1, 1 << 16), ("oneOf", 1, 1)):
        options = rule.get(word)
        if options:
            fitting = sum(next(_check(document, each, value, at, depth + 1), None) is None for each in options)
            if not least <= fitting <= most:
                yield f"{at or 'the body'} matches {fitting} of the alternatives of {word}"


def _is_of(value: Json, kind: Json) -> bool:
    if isinstance(kind, list):
        return any(_is_of(value, each) for each in kind)
    match kind:
        case "object":
            return isinstance(value, dict)
        case "array":
            return isinstance(value, list)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return not isinstance(value, bool) and (
                isinstance(value, int) or (isinstance(value, float) and value.is_integer())
            )
        case "number":
            return not isinstance(value, bool) and isinstance(value, int | float)
        case "null":
            return value is None
        case _:
            return True
