import copy
from typing import Any

import pytest
from hypothesis import given

from homeostat.objects.schema.default import MOST_ADDED, ManyDefaultsError, apply_defaults
from homeostat.objects.schema.openapi import schema_of
from homeostat.objects.schema.schema import Schema
from tests.examples import examples
from tests.objects.schemas import object_schemas, objects

PORT = {"type": "object", "properties": {"protocol": {"type": "string", "default": "TCP"}}}
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "color": {"type": "string", "default": "red"},
                "note": {"type": "string", "default": "none", "nullable": True},
                "zero": {"type": "integer", "default": 0},
                "limits": {"type": "object", "default": {}, "properties": {"cpu": {"type": "string", "default": "1"}}},
                "ports": {"type": "array", "items": PORT},
                "byName": {"type": "object", "additionalProperties": PORT},
                "counts": {"type": "object", "additionalProperties": {"type": "integer", "default": 1}},
                "levels": {"type": "array", "items": {"type": "integer", "default": 3}},
                "tags": {"type": "array", "items": {"type": "string"}, "default": ["a"]},
                "deep": {"type": "object", "properties": {"limits": {"type": "object", "properties": {"x": {}}}}},
            },
        },
        "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
    },
}
FILLED = {"color": "red", "note": "none", "zero": 0, "limits": {"cpu": "1"}, "tags": ["a"]}
CASES: dict[str, tuple[Any, Any]] = {
    "a missing object is not created": ({}, {}),
    "everything missing": ({"spec": {}}, {"spec": FILLED}),
    "given values stay": ({"spec": {"color": "blue"}}, {"spec": FILLED | {"color": "blue"}}),
    "falsy values stay": (
        {"spec": {"color": "", "zero": 0, "tags": []}},
        {"spec": FILLED | {"color": "", "tags": []}},
    ),
    "null is replaced": ({"spec": {"color": None}}, {"spec": FILLED}),
    "null stays where it is allowed": ({"spec": {"note": None}}, {"spec": FILLED | {"note": None}}),
    "inside a given object": (
        {"spec": {"limits": {"memory": "1"}}},
        {"spec": FILLED | {"limits": {"memory": "1", "cpu": "1"}}},
    ),
    "inside items": (
        {"spec": {"ports": [{}, {"protocol": "UDP"}]}},
        {"spec": FILLED | {"ports": [{"protocol": "TCP"}, {"protocol": "UDP"}]}},
    ),
    "inside the values of a map": (
        {"spec": {"byName": {"a": {}}}},
        {"spec": FILLED | {"byName": {"a": {"protocol": "TCP"}}}},
    ),
    "null in a map": ({"spec": {"counts": {"a": None, "b": 2}}}, {"spec": FILLED | {"counts": {"a": 1, "b": 2}}}),
    "null in a list": ({"spec": {"levels": [None, 1]}}, {"spec": FILLED | {"levels": [3, 1]}}),
    "wrong types are left for validation": (
        {"spec": {"limits": 3, "ports": "x"}},
        {"spec": FILLED | {"limits": 3, "ports": "x"}},
    ),
    "an object of the wrong type": ({"spec": []}, {"spec": []}),
}


@pytest.mark.parametrize(("value", "filled"), CASES.values(), ids=CASES.keys())
def test_what_is_left_out_is_filled_in(value: Any, filled: Any) -> None:
    apply_defaults(value, schema_of(SCHEMA))
    assert value == filled


def test_defaults_are_copied() -> None:
    schema = schema_of(SCHEMA)
    one: dict[str, Any] = {"spec": {}}
    other: dict[str, Any] = {"spec": {}}
    apply_defaults(one, schema)
    one["spec"]["tags"].append("b")
    one["spec"]["limits"]["cpu"] = "2"
    apply_defaults(other, schema)
    assert other["spec"] == FILLED


def test_schemas_may_refer_to_themselves() -> None:
    node = Schema(type="object")
    node.properties = {"child": node, "name": Schema(type="string", default="x")}
    value: dict[str, Any] = {"child": {"child": {}}}
    apply_defaults(value, node)
    assert value == {"name": "x", "child": {"name": "x", "child": {"name": "x"}}}


@examples(150)
@given(object_schemas, objects)
def test_defaulting_twice_changes_nothing_more(raw: dict[str, Any], value: dict[str, Any]) -> None:
    schema = schema_of(raw)
    apply_defaults(value, schema)
    once = copy.deepcopy(value)
    apply_defaults(value, schema)
    assert value == once


def test_defaults_that_have_defaults_of_their_own_are_bounded() -> None:
    node: dict[str, Any] = {"type": "object", "properties": {"x": {"type": "integer", "default": 1}}}
    for _ in range(5):
        node = {"type": "object", "properties": {"a": {"type": "array", "default": [{}] * 100, "items": node}}}
    with pytest.raises(ManyDefaultsError, match=f"more than {MOST_ADDED} values"):
        apply_defaults({}, schema_of(node))


def test_many_items_with_many_defaults_are_refused() -> None:
    members = {f"p{at}": {"type": "integer", "default": at} for at in range(1000)}
    schema = schema_of({"type": "object", "properties": {"a": {"type": "array", "items": {"properties": members}}}})
    apply_defaults({"a": [{} for _ in range(99)]}, schema)
    with pytest.raises(ManyDefaultsError):
        apply_defaults({"a": [{} for _ in range(101)]}, schema)
