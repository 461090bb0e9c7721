"""Whether a body fits the schema of an OpenAPI document. Pure.

The subset that such documents use: type, nullable, enum, required, properties, additionalProperties, items, allOf,
anyOf, oneOf. Anything else is accepted. References may double the work at each level, so it ends after a number of
steps: 40 small schemas would keep it busy for years.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from homeostat.objects.json import Json, JsonObject
from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.openapi.document import OpenApi, members
from homeostat.operators.sync.engine.payload.value import is_same

_DEEPEST: Final = 100
_MOST: Final = 10
_STEPS: Final = 10_000
_STEPS_A_VALUE: Final = 20


def problems(document: OpenApi, schema: JsonObject, value: Json) -> list[str]:
    """What is wrong, each with the place of it; empty if the value fits."""
    found = list[str]()
    for each in _Check(document, _STEPS + _STEPS_A_VALUE * _count(value)).problems(schema, value, "", 0):
        found.append(each)
        if len(found) >= _MOST:
            break
    return found


class _Check:
    def __init__(self, document: OpenApi, steps: int) -> None:
        self._document, self._steps = document, steps

    def problems(self, schema: JsonObject, value: Json, at: str, depth: int) -> Iterator[str]:
        if depth > _DEEPEST:
            return
        self._spend(1)
        rule = self._document.resolve(schema)
        where = at or "the body"
        if value is None and rule.get("nullable"):
            return
        if (kind := rule.get("type")) is not None and not _is_of(value, kind):
            yield f"{where} is not of type {kind}"
            return
        if isinstance(allowed := rule.get("enum"), list):
            # A value with parts is compared part by part.
            self._spend(len(allowed) * (_count(value) if isinstance(value, dict | list) else 1))
            if not any(is_same(value, each) for each in allowed):
                yield f"{where} is not one of the allowed values"
        if isinstance(value, dict):
            yield from self._object(rule, value, at, depth)
        if isinstance(value, list) and isinstance(rule.get("items"), dict):
            for place, each in enumerate(value):
                yield from self.problems(rule["items"], each, f"{at}/{place}", depth + 1)
        yield from self._combined(rule, value, at, depth)

    def _object(self, rule: JsonObject, value: JsonObject, at: str, depth: int) -> Iterator[str]:
        known, required = members(rule), _list(rule, "required")
        self._spend(len(known) + len(required))
        for name in required:
            if isinstance(name, str) and name not in value:
                yield f"{at}/{name} is required"
        for name, each in known.items():
            if name in value:
                yield from self.problems(each, value[name], f"{at}/{name}", depth + 1)
        more = rule.get("additionalProperties", True)
        others = value.keys() - known.keys()
        if more is False:
            inherited = set(self._document.properties(rule))
            self._spend(len(inherited))
            yield from (f"{at}/{name} is not known to the schema" for name in sorted(others - inherited))
        elif isinstance(more, dict):
            for name in sorted(others):
                yield from self.problems(more, value[name], f"{at}/{name}", depth + 1)

    def _combined(self, rule: JsonObject, value: Json, at: str, depth: int) -> Iterator[str]:
        for each in _list(rule, "allOf"):
            yield from self.problems(each, value, at, depth + 1)
        for word, least, most in (("anyOf", 1, 1 << 16), ("oneOf", 1, 1)):
            options = _list(rule, word)
            if options:
                fitting = sum(next(self.problems(each, value, at, depth + 1), None) is None for each in options)
                if not least <= fitting <= most:
                    yield f"{at or 'the body'} matches {fitting} of the alternatives of {word}"

    def _spend(self, steps: int) -> None:
        self._steps -= steps
        if self._steps < 0:
            raise ValidationError("the schema of the body takes too much work; use fewer references and alternatives")


def _list(rule: JsonObject, word: str) -> list[Json]:
    found = rule.get(word)
    return found if isinstance(found, list) else []


def _count(value: Json) -> int:
    count, waiting = 0, [value]
    while waiting:
        each = waiting.pop()
        count += 1
        if isinstance(each, dict | list):
            waiting += each.values() if isinstance(each, dict) else each
    return count


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
