"""Follows `$ref`s inside a document, within limits. Pure.

A schema that contains itself, or grows beyond the limits when its references are replaced, ends with the schema that
allows everything at that place.
"""

from __future__ import annotations

from typing import Final

from homeostat.objects.json import Json, JsonObject

_MOST_STEPS: Final = 20
_MOST_NESTED: Final = 12
_MOST_NODES: Final = 2000


class Resolver:
    def __init__(self, document: JsonObject) -> None:
        self._document = document

    def follow(self, value: Json) -> JsonObject:
        """Return the object that a value is or refers to; empty if there is none."""
        for _ in range(_MOST_STEPS):
            if not isinstance(value, dict):
                return {}
            ref = value.get("$ref")
            if not isinstance(ref, str):
                return value
            value = self._at(ref)
        return {}

    def expand(self, schema: Json) -> JsonObject:
        """Return a schema without references."""
        budget = [_MOST_NODES]
        found = self._expanded(schema, (), budget)
        return found if isinstance(found, dict) else {}

    def _expanded(self, value: Json, way: tuple[str, ...], budget: list[int]) -> Json:
        budget[0] -= 1
        if budget[0] < 0 or len(way) > _MOST_NESTED:
            return {}
        if isinstance(value, list):
            return [self._expanded(each, (*way, ""), budget) for each in value]
        if not isinstance(value, dict):
            return value
        ref = value.get("$ref")
        if not isinstance(ref, str):
            return {str(key): self._expanded(each, (*way, ""), budget) for key, each in value.items()}
        if ref in way:
            return {}
        beside = {key: each for key, each in value.items() if key in ("description", "title")}
        found = self._expanded(self._at(ref), (*way, ref), budget)
        return found | beside if isinstance(found, dict) else beside

    def _at(self, ref: str) -> Json:
        if not ref.startswith("#/"):
            return None
        value: Json = self._document
        for step in ref[2:].split("/"):
            name = step.replace("~1", "/").replace("~0", "~")
            value = value.get(name) if isinstance(value, dict) else None
        return value
