"""The work of a schema is counted before it is done."""

from __future__ import annotations

import json
from typing import Any

import pytest

from homeostat.operators.contracts.engine.schema.cost import has_references, is_affordable
from homeostat.operators.contracts.engine.schema.json_schema import compile_schema

_TREE = {
    "$defs": {"node": {"properties": {"name": {"type": "string"}, "below": {"items": {"$ref": "#/$defs/node"}}}}},
    "$ref": "#/$defs/node",
}


def _deep(levels: int) -> Any:
    value: Any = {"name": "leaf"}
    for _ in range(levels):
        value = {"name": "x", "below": [value, value]}
    return value


def _doubling(count: int, **end: Any) -> dict[str, Any]:
    names = {f"n{at}": {"allOf": [{"$ref": f"#/$defs/n{at + 1}"}] * 2} for at in range(count)}
    return {"$defs": {**names, f"n{count}": end}, "$ref": "#/$defs/n0"}


def test_a_schema_of_a_tree_is_affordable() -> None:
    schema = compile_schema(json.dumps(_TREE).encode())
    assert schema.violations(_deep(8)) == []
    assert [each.path for each in schema.violations({"below": [{"name": 3}]})] == ["below.0.name"]


@pytest.mark.parametrize(
    "schema",
    [
        _doubling(40, type="string"),
        {"properties": {"below": {"items": {"allOf": [{"$ref": "#"}] * 20}}}},
        {
            "$defs": {"a": {"$anchor": "a", "properties": {"below": {"items": {"allOf": [{"$ref": "#a"}] * 20}}}}},
            "$ref": "#a",
        },
        {"$dynamicAnchor": "d", "properties": {"below": {"items": {"anyOf": [{"$dynamicRef": "#d"}] * 20}}}},
    ],
    ids=["same level", "every level", "anchor", "dynamic"],
)
def test_references_that_multiply_are_refused_at_once(schema: dict[str, Any]) -> None:
    (violation,) = compile_schema(json.dumps(schema).encode()).violations(_deep(9))
    assert "references" in str(violation)


@pytest.mark.parametrize(
    "schema",
    [{"$ref": "#"}, {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}, {"$ref": "#/nowhere"}, {"$ref": "#/a/0", "a": [{}]}],
)
def test_a_reference_to_itself_or_to_nothing_ends(schema: dict[str, Any]) -> None:
    assert has_references(schema)
    assert is_affordable(schema, {"a": [1, {"b": 2}]})


def test_a_chain_of_references_without_end_is_refused() -> None:
    names = {f"n{at}": {"$ref": f"#/$defs/n{at + 1}"} for at in range(5000)}
    assert not is_affordable({"$defs": {**names, "n5000": {}}, "$ref": "#/$defs/n0"}, 1)


def test_few_references_are_affordable() -> None:
    assert is_affordable(_doubling(10, type="object"), {"a": 1})
    assert not has_references({"properties": {"a": {"enum": [1]}}})
