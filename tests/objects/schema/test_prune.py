import copy
import time
from typing import Any

import pytest
from hypothesis import given

from homeostat.objects.errors import BadRequestError
from homeostat.objects.schema.openapi import schema_of
from homeostat.objects.schema.prune import prune, unknown_fields
from homeostat.objects.schema.schema import Schema
from tests.examples import examples
from tests.objects.schemas import object_schemas, objects

PART = {"type": "object", "properties": {"name": {"type": "string"}}}
SCHEMA = {
    "type": "object",
    "properties": {
        "metadata": {"type": "object"},
        "spec": {
            "type": "object",
            "properties": {
                "size": {"type": "integer"},
                "comment": {"type": "string", "nullable": True},
                "color": {"type": "string", "default": "red"},
                "parts": {"type": "array", "items": PART},
                "grid": {"type": "array", "items": {"type": "array", "items": PART}},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "byName": {"type": "object", "additionalProperties": PART},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"part": PART}},
                "anyList": {"type": "array", "x-kubernetes-preserve-unknown-fields": True, "items": PART},
                "bare": {"type": "array"},
                "loose": {"type": "object", "additionalProperties": True},
                "template": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "properties": {"spec": PART},
                },
            },
        },
    },
}

CASES: dict[str, tuple[Any, Any, list[str]]] = {
    "known": ({"spec": {"size": 1}}, {"spec": {"size": 1}}, []),
    "unknown at the root": ({"spce": {"size": 1}}, {}, ["spce"]),
    "unknown in an object": ({"spec": {"size": 1, "sise": 2}}, {"spec": {"size": 1}}, ["spec.sise"]),
    "unknown in an item": (
        {"spec": {"parts": [{"name": "a"}, {"nam": "b"}]}},
        {"spec": {"parts": [{"name": "a"}, {}]}},
        ["spec.parts[1].nam"],
    ),
    "unknown in a list of lists": (
        {"spec": {"grid": [[{"x": 1}], []]}},
        {"spec": {"grid": [[{}], []]}},
        ["spec.grid[0][0].x"],
    ),
    "unknown in a map's value": (
        {"spec": {"byName": {"k": {"x": 1, "name": "n"}}}},
        {"spec": {"byName": {"k": {"name": "n"}}}},
        ["spec.byName.k.x"],
    ),
    "keys of a map are not fields": ({"spec": {"labels": {"x": "y"}}}, {"spec": {"labels": {"x": "y"}}}, []),
    "several, sorted": ({"z": 1, "spec": {"b": 1, "a": 1}}, {"spec": {}}, ["spec.a", "spec.b", "z"]),
    "preserved": ({"spec": {"free": {"x": {"y": 1}}}}, {"spec": {"free": {"x": {"y": 1}}}}, []),
    "known below preserved": (
        {"spec": {"free": {"part": {"x": 1}, "y": 2}}},
        {"spec": {"free": {"part": {}, "y": 2}}},
        ["spec.free.part.x"],
    ),
    "items of a preserving list": ({"spec": {"anyList": [{"x": 1}]}}, {"spec": {"anyList": [{"x": 1}]}}, []),
    "items without a schema": ({"spec": {"bare": [{"x": 1}, 2]}}, {"spec": {"bare": [{}, 2]}}, ["spec.bare[0].x"]),
    "true as schema of a map": (
        {"spec": {"loose": {"a": 1, "b": {"c": 1}}}},
        {"spec": {"loose": {"a": 1, "b": {}}}},
        ["spec.loose.b.c"],
    ),
    "metadata of the object stays": (
        {"apiVersion": "a/v1", "kind": "K", "metadata": {"name": "n", "labels": {"a": "b"}}},
        {"apiVersion": "a/v1", "kind": "K", "metadata": {"name": "n", "labels": {"a": "b"}}},
        [],
    ),
    "metadata of an embedded object stays": (
        {"spec": {"template": {"kind": "K", "metadata": {"name": "n", "x": 1}, "spec": {"x": 1}, "status": {}}}},
        {"spec": {"template": {"kind": "K", "metadata": {"name": "n"}, "spec": {}}}},
        ["spec.template.metadata.x", "spec.template.spec.x", "spec.template.status"],
    ),
    "an object where a scalar belongs": ({"spec": {"size": {"a": 1}}}, {"spec": {"size": {}}}, ["spec.size.a"]),
    "null without nullable goes": ({"spec": {"size": None}}, {"spec": {}}, []),
    "null with nullable stays": ({"spec": {"comment": None}}, {"spec": {"comment": None}}, []),
    "null with a default waits for it": ({"spec": {"color": None}}, {"spec": {"color": None}}, []),
    "null in a map goes": ({"spec": {"labels": {"a": None}}}, {"spec": {"labels": {}}}, []),
    "null in a list stays": ({"spec": {"parts": [None]}}, {"spec": {"parts": [None]}}, []),
    "null and unknown": ({"spec": {"x": None}}, {"spec": {}}, ["spec.x"]),
}


@pytest.mark.parametrize(("value", "left", "unknown"), CASES.values(), ids=CASES.keys())
def test_what_the_schema_does_not_know_is_removed_and_named(value: Any, left: Any, unknown: list[str]) -> None:
    schema = schema_of(SCHEMA)
    before = copy.deepcopy(value)
    assert unknown_fields(value, schema) == unknown
    assert value == before
    assert prune(value, schema) == unknown
    assert value == left


def test_built_in_kinds_have_their_metadata_in_the_schema() -> None:
    meta = Schema(type="object", name="io.k8s.ObjectMeta", properties={"name": Schema(type="string")})
    kind = Schema(type="object", name="io.k8s.Thing", properties={"kind": Schema(type="string"), "metadata": meta})
    assert prune({"kind": "Thing", "metadata": {"nam": "x"}}, kind) == ["metadata.nam"]


def _tree(depth: int) -> dict[str, Any]:
    root: dict[str, Any] = {}
    inner = root
    for _ in range(depth):
        inner["child"] = {}
        inner = inner["child"]
    inner["x"] = 1
    return root


def test_schemas_may_refer_to_themselves() -> None:
    node = Schema(type="object", name="io.example.Tree")
    node.properties["child"] = node
    assert prune(_tree(3), node) == ["child.child.child.x"]


def test_nesting_without_end_is_a_bad_request() -> None:
    node = Schema(type="object", name="io.example.Tree")
    node.properties["child"] = node
    with pytest.raises(BadRequestError):
        prune(_tree(5000), node)


def test_unknown_fields_of_a_long_list_cost_in_proportion_to_their_number() -> None:
    value = {"items": [{"x": 1} for _ in range(40_000)]}
    schema = Schema(properties={"items": Schema(items=Schema())})
    began = time.process_time()
    assert len(prune(value, schema)) == 40_000
    assert time.process_time() - began < 3, "it took 33 s when each one copied those before it"


@examples(150)
@given(object_schemas, objects)
def test_nothing_unknown_is_left_after_pruning(raw: dict[str, Any], value: dict[str, Any]) -> None:
    schema = schema_of(raw)
    named = unknown_fields(value, schema)
    assert prune(value, schema) == named
    assert unknown_fields(value, schema) == []
    assert prune(value, schema) == []
