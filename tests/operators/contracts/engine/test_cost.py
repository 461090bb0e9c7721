"""The work of a schema is counted before it is done."""

from __future__ import annotations

import json
from time import process_time
from typing import Any

import pytest

from homeostat.operators.contracts.engine.schema.contract_schema import check_structure
from homeostat.operators.contracts.engine.schema.cost import SchemaCost
from homeostat.operators.contracts.engine.schema.json_schema import InvalidSchemaError, JsonSchema, compile_schema

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
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}, {"$ref": "#"}]},
        {"$ref": "#/nowhere"},
        {"$ref": "#/a/0", "a": [{}]},
        {"$ref": "#/a/²", "a": [{}]},
    ],
)
def test_a_reference_to_itself_or_to_nothing_ends(schema: dict[str, Any]) -> None:
    assert SchemaCost(schema).is_affordable({"a": [1, {"b": 2}]})


def test_a_chain_of_references_without_end_is_refused() -> None:
    names = {f"n{at}": {"$ref": f"#/$defs/n{at + 1}"} for at in range(5000)}
    assert not SchemaCost({"$defs": {**names, "n5000": {}}, "$ref": "#/$defs/n0"}).is_affordable(1)


def test_few_references_are_affordable() -> None:
    assert SchemaCost(_doubling(10, type="object")).is_affordable({"a": 1})


_WIDE = range(20_000)
_TEXTS = ["x"] * 3000


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"items": {"anyOf": [{"const": each} for each in _WIDE]}}, _TEXTS),
        ({"items": {"allOf": [{"minLength": each + 2} for each in _WIDE]}}, _TEXTS),
        ({"items": {"enum": [*_WIDE]}}, _TEXTS),
        ({"items": {"pattern": "(a?){1000}b"}}, ["a" * 100_000] * 20),
        ({"allOf": [{"uniqueItems": True}] * 3000}, list(range(1000))),
        ({"allOf": [{"format": "iri"}] * 3000}, "a:" + "x" * 100_000),
        ({"items": {"dependentRequired": {f"a{at}": ["b"] for at in range(5000)}}}, [{}] * 1000),
    ],
    ids=["anyOf", "allOf", "enum", "long texts", "unique items", "formats", "dependencies"],
)
def test_a_wide_schema_for_many_values_is_refused_at_once(schema: dict[str, Any], value: Any) -> None:
    (violation,) = compile_schema(json.dumps(schema).encode()).violations(value)
    assert "too much work" in str(violation)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"items": {"$ref": "#/x" + "/x" * 100_000}}, [1] * 2000),
        ({"patternProperties": {f"^a{at:04}": {} for at in range(1000)}}, {f"k{at}": 1 for at in range(20_000)}),
    ],
    ids=["a long reference", "many patterns for many names"],
)
def test_the_work_is_counted_quickly(schema: dict[str, Any], value: Any) -> None:
    cost = SchemaCost(schema)
    began = process_time()
    cost.is_affordable(value)
    assert process_time() - began < 0.3


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"items": {"anyOf": [{"const": each} for each in range(300)]}}, "too large to say where"),
        ({"items": {"allOf": [{"minLength": each + 2} for each in range(300)]}}, "at '/0': \"x\" is shorter than 2"),
    ],
    ids=["alternatives", "first"],
)
def test_violations_that_would_fill_the_memory_are_not_listed(schema: dict[str, Any], said: str) -> None:
    (violation,) = compile_schema(json.dumps(schema).encode()).violations(["x"] * 300)
    assert said in str(violation)


@pytest.mark.parametrize("pattern", [r"\pL{100}%d", r"(.{30}){30}%d", r"\p{Script=Greek}{99}{99}%d", "%d"])
def test_patterns_with_very_many_states_are_refused(pattern: str) -> None:
    with pytest.raises(InvalidSchemaError, match="too many states"):
        JsonSchema({"allOf": [{"pattern": pattern % each} for each in range(3000)]})


def test_the_first_violation_of_a_large_contract_is_reported() -> None:
    dependency = {"name": "a", "ref": "oci://r/a", "compatibility": "^1.0.0"}
    document = {"service": {"name": "a", "version": "1.0.0"}, "dependencies": [dependency] * 20_000 + [1] * 20_000}
    (error,) = check_structure({"pactoVersion": "1.2", **document}).errors
    assert error.path == "dependencies.20000"
