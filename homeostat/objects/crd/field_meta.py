"""Markers for what the type of a field cannot express, to be used beside the type in an `Annotated`.

    replicas: Annotated[int, Meta(ge=0), rule("self >= oldSelf", "must not fall")]
    ports: Annotated[tuple[Port, ...], keyed("name")] = ()

Each is a `msgspec.Meta` whose `extra_json_schema` goes into the field's schema (`type_schema.py`); several are merged.
Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from msgspec import Meta

from homeostat.objects.json import JsonObject
from homeostat.objects.schema.schema import Rule

RULES = "x-kubernetes-validations"
Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
Count = Annotated[int, Meta(ge=0, le=2**53)]
NULLABLE = Meta(extra_json_schema={"nullable": True})
"""`null` is a value of the field, and not the same as leaving it out."""

_WORDS = {
    "rule": "rule",
    "message": "message",
    "message_expression": "messageExpression",
    "reason": "reason",
    "field_path": "fieldPath",
    "optional_old_self": "optionalOldSelf",
}


def rule(
    expression: str,
    message: str = "",
    *,
    message_expression: str = "",
    reason: str = "",
    field_path: str = "",
    optional_old_self: bool | None = None,
) -> Meta:
    """A rule in CEL about one field, which is `self` in it."""
    one = Rule(expression, message, message_expression, reason, field_path, optional_old_self)
    return Meta(extra_json_schema={RULES: written_rules([one])})


def keyed(*keys: str) -> Meta:
    """A list of objects with unique values of these fields (wire names); server-side apply merges it by them."""
    return Meta(extra_json_schema={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)})


def written_rules(rules: Iterable[Rule]) -> list[JsonObject]:
    return [
        {word: getattr(each, name) for name, word in _WORDS.items() if getattr(each, name) not in ("", None)}
        for each in rules
    ]
