"""A resource type becomes a definition that a server takes, or an error that says where it cannot."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.crd.definition import validate_crd
from homeostat.objects.json import JsonObject
from homeostat.objects.schema.openapi import schema_of
from homeostat.objects.schema.validate import Validator
from homeostat.operators.actions.api import KINDS, ResourceTypeSpec
from homeostat.operators.actions.types.compatibility import incompatible_resources
from homeostat.operators.actions.types.definition import InvalidTypeError, definition_of, version_priority
from homeostat.operators.actions.types.naming import kind_name, plural_of, version_name
from homeostat.operators.actions.types.spec_schema import spec_schema
from tests.examples import examples

DATABASE: JsonObject = {
    "type": "object",
    "required": ["engine"],
    "additionalProperties": False,
    "properties": {
        "engine": {"type": "string", "enum": ["postgres", "mysql"]},
        "replicas": {"type": "integer", "minimum": 1, "maximum": 7, "default": 1},
        "tags": {"type": "object", "additionalProperties": {"type": "string"}},
    },
}


def made(schema: JsonObject, **more: Any) -> JsonObject:
    return definition_of([ResourceTypeSpec(name="DatabaseCluster", schema=schema, **more)])


def problems(definition: JsonObject, spec: Any) -> list[str]:
    root = schema_of(definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
    return [f"{each.field}: {each.message}" for each in Validator(root).check({"spec": spec})]


def test_a_server_takes_the_definition() -> None:
    definition = made(DATABASE)
    assert validate_crd(definition) == []
    assert definition["metadata"]["name"] == "databaseclusters.resources.homeostat.dev"
    assert definition["spec"]["names"]["kind"] == "DatabaseCluster"


def test_the_kinds_of_the_operator_are_ones_that_a_server_takes() -> None:
    assert not any(validate_crd(each.definition()) for each in KINDS)


def test_resources_are_validated_by_the_schema() -> None:
    definition = made(DATABASE)
    assert problems(definition, {"engine": "postgres", "replicas": 3}) == []
    (missing,) = problems(definition, {"replicas": 3})
    assert missing.startswith("spec.engine: Required value")
    assert len(problems(definition, {"engine": "oracle", "replicas": 9, "tags": {"a": 1}})) == 3


def test_anything_fits_an_empty_schema() -> None:
    assert problems(made({}), {"anything": [1, {"a": None}]}) == []


@pytest.mark.parametrize(
    ("schema", "spec", "fits"),
    [
        pytest.param({"properties": {"a": {"type": "string"}}}, {"a": "x", "more": 1}, True, id="type-left-out"),
        pytest.param({"properties": {"a": {"const": "x"}}}, {"a": "y"}, False, id="const"),
        pytest.param({"properties": {"a": {"exclusiveMinimum": 5, "type": "integer"}}}, {"a": 5}, False, id="draft-7"),
        pytest.param({"properties": {"a": {"type": ["string", "null"]}}}, {"a": None}, True, id="null-beside"),
        pytest.param({"properties": {"a": {"type": ["integer", "string"]}}}, {"a": "5"}, True, id="int-or-string"),
        pytest.param({"properties": {"a": {"type": "array"}}}, {"a": [1, "x"]}, True, id="any-items"),
        pytest.param(
            {"properties": {"a": {"type": "array", "items": {"type": "string"}, "uniqueItems": True}}},
            {"a": ["x", "x"]},
            False,
            id="unique",
        ),
        pytest.param(
            {"properties": {"a": {"$ref": "#/definitions/size"}}, "definitions": {"size": {"type": "integer"}}},
            {"a": "x"},
            False,
            id="reference",
        ),
        pytest.param(
            {
                "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
            },
            {"a": "x", "b": "y"},
            False,
            id="one-of",
        ),
        pytest.param({"properties": {"a": {}}}, {"a": {"b": [1]}}, True, id="anything"),
    ],
)
def test_json_schema_means_what_it_meant(schema: JsonObject, spec: JsonObject, fits: bool) -> None:
    assert (problems(made(schema), spec) == []) is fits


@pytest.mark.parametrize(
    ("schema", "field"),
    [
        pytest.param({"type": "nope"}, "spec.schema.type", id="unknown-type"),
        pytest.param({"type": "array"}, "spec.schema.type", id="no-object"),
        pytest.param(
            {"properties": {"a": {"properties": {"b": {"type": "nope"}}}}},
            "spec.schema.properties.a.properties.b.type",
            id="deep",
        ),
        pytest.param({"requierd": ["a"]}, "spec.schema.requierd", id="a word nobody knows"),
        pytest.param({"patternProperties": {"^x": {}}}, "spec.schema.patternProperties", id="pattern-properties"),
        pytest.param({"properties": {"a": {"if": {}}}}, "spec.schema.properties.a.if", id="condition"),
        pytest.param({"properties": {"a": {"$ref": "#/nowhere"}}}, "spec.schema.properties.a.$ref", id="reference"),
        pytest.param(
            {
                "properties": {"a": {"$ref": "#/definitions/a"}},
                "definitions": {"a": {"items": {"$ref": "#/definitions/a"}}},
            },
            "spec.schema.properties.a.items.$ref",
            id="recursion",
        ),
        pytest.param(
            {"properties": {"a": {"type": "string", "pattern": "("}}}, "spec.schema.properties.a.pattern", id="pattern"
        ),
        pytest.param(
            {"properties": {"a": {"type": "integer", "default": "x"}}}, "spec.schema.properties.a.default", id="default"
        ),
        pytest.param(
            {"properties": {"a": {"type": ["string", "object"]}}}, "spec.schema.properties.a.type", id="types"
        ),
    ],
)
def test_what_is_wrong_with_a_schema_is_reported_by_its_path(schema: JsonObject, field: str) -> None:
    with pytest.raises(InvalidTypeError) as error:
        made(schema)
    assert field in [each.field for each in error.value.causes]


@pytest.mark.parametrize(
    ("name", "kind", "plural"),
    [
        ("DatabaseCluster", "DatabaseCluster", "databaseclusters"),
        ("database-policy", "DatabasePolicy", "databasepolicies"),
        ("dns_proxy", "DnsProxy", "dnsproxies"),
        ("Gateway", "Gateway", "gateways"),
        ("Switch", "Switch", "switches"),
    ],
)
def test_names_are_derived(name: str, kind: str, plural: str) -> None:
    assert (kind_name(name), plural_of(kind_name(name))) == (kind, plural)


@pytest.mark.parametrize(("given", "expected"), [("v1", "v1"), ("1", "v1"), ("2.1", "v2-1"), ("V1Beta1", "v1beta1")])
def test_versions_are_derived(given: str, expected: str) -> None:
    assert version_name(given) == expected


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        (ResourceTypeSpec(name="Größe"), "spec.name"),
        (ResourceTypeSpec(name="1st"), "spec.name"),
        (ResourceTypeSpec(name="Thing", version="v 1"), "spec.version"),
        (ResourceTypeSpec(name="Thing", plural="Things"), "spec.plural"),
        (ResourceTypeSpec(name="Thing", short_names=("T!",)), "spec.shortNames[0]"),
    ],
    ids=["letters", "digit-first", "version", "plural", "short-name"],
)
def test_an_impossible_name_is_reported(spec: ResourceTypeSpec, field: str) -> None:
    with pytest.raises(InvalidTypeError) as error:
        definition_of([spec])
    assert field in [each.field for each in error.value.causes]


def test_versions_of_one_type_are_one_definition_and_the_newest_is_stored() -> None:
    versions = [ResourceTypeSpec(name="Thing", version=each) for each in ("v1alpha1", "v2", "v1")]
    definition = definition_of(versions)
    stored = [(each["name"], each["storage"]) for each in definition["spec"]["versions"]]
    assert stored == [("v2", True), ("v1", False), ("v1alpha1", False)]


def test_versions_have_the_order_of_kubernetes() -> None:
    ordered = ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "foo1"]
    assert sorted(ordered, key=version_priority, reverse=True) == ordered


def live(name: str, **spec: Any) -> JsonObject:
    return {"metadata": {"name": name, "namespace": "default"}, "spec": spec, "status": {"phase": "wrong"}}


def test_resources_that_a_changed_schema_does_not_match_are_named() -> None:
    held = [live("one", engine="postgres"), live("two", engine="oracle"), live("three")]
    found = incompatible_resources(made(DATABASE), held)
    assert [each.name for each in found] == ["two", "three"]
    assert str(found[1]).startswith("default/three: spec.engine: Required value")


def test_what_a_default_fills_in_fits() -> None:
    schema = {"required": ["size"], "properties": {"size": {"type": "integer", "default": 1}}}
    held = [live("one")]
    assert incompatible_resources(made(schema), held) == []
    assert held == [live("one")]


def test_the_given_schema_is_left_as_it_was() -> None:
    given = {"properties": {"a": {"type": "object", "properties": {"b": {"type": "string"}}}}}
    before = repr(given)
    spec_schema(given)
    definition_of([ResourceTypeSpec(name="Thing", schema=given)])
    assert repr(given) == before


WORDS = ["type", "properties", "items", "required", "enum", "const", "default", "$ref", "anyOf", "not", "format"]
WORDS += ["additionalProperties", "minimum", "exclusiveMinimum", "pattern", "uniqueItems", "definitions", "nullable"]
VALUES: list[Any] = ["object", "array", "string", "integer", "#/definitions/a", "(", "null", "a", -1, 0, 3, True, None]


@examples(100)
@given(
    schema=st.recursive(
        st.sampled_from(VALUES),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*WORDS, "a", "b"]), inner, max_size=4)
        ),
        max_leaves=25,
    )
)
def test_any_schema_makes_a_sound_definition_or_is_refused(schema: Any) -> None:
    given = {"properties": {"a": schema}, "definitions": {"a": {"type": "string"}}}
    with suppress(InvalidTypeError):
        assert validate_crd(made(given)) == []
