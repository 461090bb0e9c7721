from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.crd.schema import check_schema
from homeostat.objects.schema.keywords import check_form
from homeostat.objects.schema.openapi import schema_of
from homeostat.objects.schema.validate import Validator
from tests.examples import examples
from tests.objects.schemas import any_json, object_schemas

TEXT = {"type": "string"}
IN_SPEC = "properties[x]"
RULED = {
    "type": "object",
    "properties": {"a": TEXT},
    "x-kubernetes-validations": [{"rule": "self.a == 'yes'", "message": "say yes"}],
}


# The schema of a member x, the field of the cause below the root, and how the message starts.
MEMBER: dict[str, tuple[dict[str, Any], str, str]] = {
    "no type": ({}, ".type", "Required value: must not be empty for specified object fields"),
    "no type of items": (
        {"type": "array", "items": {}},
        ".items.type",
        "Required value: must not be empty for specified array items",
    ),
    "no type of map values": (
        {"type": "object", "additionalProperties": {}},
        ".additionalProperties.type",
        "Required value: must not be empty for specified object fields",
    ),
    "no items": ({"type": "array"}, ".items", "Required value: must be specified"),
    "unknown type": (
        {"type": "int"},
        ".type",
        'Unsupported value: "int": supported values: "array", "boolean", "integer"',
    ),
    "null type": ({"type": "null"}, ".type", "Forbidden: type cannot be set to null, use nullable as an alternative"),
    "items as a list": (
        {"type": "array", "items": [TEXT]},
        ".items",
        "Forbidden: items must be a schema object and not an array",
    ),
    "$ref": (TEXT | {"$ref": "#/x"}, ".$ref", "Forbidden: $ref is not supported"),
    "id": (TEXT | {"id": "x"}, ".id", "Forbidden: id is not supported"),
    "definitions": (TEXT | {"definitions": {"a": TEXT}}, ".definitions", "Forbidden: definitions is not supported"),
    "dependencies": (
        TEXT | {"dependencies": {"a": ["b"]}},
        ".dependencies",
        "Forbidden: dependencies is not supported",
    ),
    "patternProperties": (
        {"type": "object", "patternProperties": {"a": TEXT}},
        ".patternProperties",
        "Forbidden: patternProperties is not supported",
    ),
    "additionalItems": (
        {"type": "array", "items": TEXT, "additionalItems": TEXT},
        ".additionalItems",
        "Forbidden: additionalItems is not supported",
    ),
    "uniqueItems": (
        {"type": "array", "items": TEXT, "uniqueItems": True},
        ".uniqueItems",
        "Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
    ),
    "properties and additionalProperties": (
        {"type": "object", "properties": {"a": TEXT}, "additionalProperties": TEXT},
        ".additionalProperties",
        "Forbidden: additionalProperties and properties are mutual exclusive",
    ),
    "properties and no additionalProperties": (
        {"type": "object", "properties": {"a": TEXT}, "additionalProperties": False},
        ".additionalProperties",
        "Forbidden: additionalProperties and properties are mutual exclusive",
    ),
    "bad pattern": (TEXT | {"pattern": "("}, ".pattern", 'Invalid value: "(": must be a valid regular expression'),
    "pattern with look-around": (TEXT | {"pattern": "(?=a)"}, ".pattern", 'Invalid value: "(?=a)": must be a valid'),
    "bad nested pattern": (TEXT | {"anyOf": [{"pattern": "["}]}, ".anyOf[0].pattern", 'Invalid value: "["'),
    "preserve false": (
        {"type": "object", "x-kubernetes-preserve-unknown-fields": False},
        ".x-kubernetes-preserve-unknown-fields",
        "Invalid value: false: must be true or undefined",
    ),
    "int-or-string that preserves": (
        {"x-kubernetes-int-or-string": True, "x-kubernetes-preserve-unknown-fields": True},
        ".x-kubernetes-preserve-unknown-fields",
        "Invalid value: true: must be false if x-kubernetes-int-or-string is true",
    ),
    "int-or-string that is embedded": (
        {"x-kubernetes-int-or-string": True, "x-kubernetes-embedded-resource": True},
        ".x-kubernetes-embedded-resource",
        "Invalid value: true: must be false if x-kubernetes-int-or-string is true",
    ),
    "embedded string": (
        TEXT | {"x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
        ".type",
        'Invalid value: "string": must be object if x-kubernetes-embedded-resource is true',
    ),
    "embedded without type": (
        {"x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
        ".type",
        "Required value: must be object if x-kubernetes-embedded-resource is true",
    ),
    "embedded without content": (
        {"type": "object", "x-kubernetes-embedded-resource": True},
        ".properties",
        "Required value: must not be empty if x-kubernetes-embedded-resource is true without",
    ),
    "embedded map": (
        {"type": "object", "x-kubernetes-embedded-resource": True, "additionalProperties": TEXT},
        ".additionalProperties",
        "Forbidden: must not be used if x-kubernetes-embedded-resource is set",
    ),
    "embedded with a numeric kind": (
        {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"kind": {"type": "integer"}}},
        ".properties[kind].type",
        'Invalid value: "integer": must be string',
    ),
    "embedded in metadata": (
        {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "properties": {
                "metadata": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "x-kubernetes-preserve-unknown-fields": True,
                }
            },
        },
        ".properties[metadata].x-kubernetes-embedded-resource",
        "Forbidden: must not be used inside of resource meta",
    ),
    **{
        f"{word} in anyOf": (TEXT | {"anyOf": [{word: value}]}, f".anyOf[0].{word}", message)
        for word, value, message in (
            ("type", "string", "Forbidden: must be empty to be structural"),
            ("default", 0, "Forbidden: must be undefined to be structural"),
            ("title", "x", "Forbidden: must be empty to be structural"),
            ("description", "x", "Forbidden: must be empty to be structural"),
            ("nullable", True, "Forbidden: must be false to be structural"),
            ("additionalProperties", False, "Forbidden: must be undefined to be structural"),
            ("x-kubernetes-int-or-string", True, "Forbidden: must be false to be structural"),
            ("x-kubernetes-list-type", "set", "Forbidden: must be undefined to be structural"),
            ("x-kubernetes-validations", [{"rule": "true"}], "Forbidden: must be empty to be structural"),
        )
    },
    "type in a nested property": (
        {"type": "object", "not": {"properties": {"a": TEXT}}, "properties": {"a": TEXT}},
        ".not.properties[a].type",
        "Forbidden: must be empty to be structural",
    ),
    "metadata in a nested property": (
        {"type": "object", "oneOf": [{"properties": {"metadata": {}}}]},
        ".oneOf[0].properties[metadata]",
        "Forbidden: must not be specified in a nested context",
    ),
    "default of the wrong type": (
        {"type": "integer", "default": "1"},
        ".default",
        'Invalid value: "string": openAPIV3Schema.properties[x].default in body must be of type integer: "string"',
    ),
    "default out of range": ({"type": "integer", "minimum": 1, "default": 0}, ".default", "Invalid value: 0: "),
    "default with an unknown field": (
        {"type": "object", "properties": {"a": TEXT}, "default": {"b": 1}},
        ".default",
        'Invalid value: {"b":1}: must not have unknown fields',
    ),
    "default that breaks a rule": (
        RULED | {"default": {"a": "no"}},
        ".default",
        'Invalid value: "object": say yes',
    ),
    "default that lacks what a rule asks for": (
        RULED | {"default": {}, "properties": {"a": TEXT | {"default": "yes"}}},
        ".default",
        'Invalid value: "object": no such key: a',
    ),
    "default inside that breaks a rule": (
        {"type": "array", "items": RULED, "default": [{"a": "yes"}, {"a": "no"}]},
        ".default[1]",
        'Invalid value: "object": say yes',
    ),
    "default with a wrong member": (
        {"type": "object", "properties": {"a": TEXT}, "default": {"a": 1}},
        ".default.a",
        'Invalid value: "integer": ',
    ),
}


@pytest.mark.parametrize(("member", "field", "message"), MEMBER.values(), ids=MEMBER.keys())
def test_a_bad_schema_of_a_field_is_refused(member: dict[str, Any], field: str, message: str) -> None:
    causes = check_schema({"type": "object", "properties": {"x": member}}, "openAPIV3Schema")
    wanted = f"openAPIV3Schema.{IN_SPEC}{field}"
    assert any(cause.field == wanted and cause.message.startswith(message) for cause in causes), causes


ROOT: dict[str, tuple[dict[str, Any], str, str]] = {
    "no type": ({}, ".type", "Required value: must not be empty at the root"),
    "not an object": (TEXT, ".type", 'Invalid value: "string": must be object at the root'),
    "a map": (
        {"type": "object", "additionalProperties": TEXT},
        ".additionalProperties",
        "Forbidden: must not be used at the root",
    ),
    "nullable": ({"type": "object", "nullable": True}, ".nullable", "Forbidden: nullable cannot be true at the root"),
    "metadata with labels": (
        {
            "type": "object",
            "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}},
        },
        ".properties[metadata]",
        "Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified",
    ),
    "metadata that is required": (
        {"type": "object", "properties": {"metadata": {"type": "object", "required": ["labels"]}}},
        ".properties[metadata]",
        "Forbidden: must not specify anything other than name and generateName",
    ),
    "metadata of a wrong type": (
        {"type": "object", "properties": {"metadata": TEXT}},
        ".properties[metadata].type",
        'Invalid value: "string": must be object',
    ),
    "numeric apiVersion": (
        {"type": "object", "properties": {"apiVersion": {"type": "integer"}}},
        ".properties[apiVersion].type",
        'Invalid value: "integer": must be string',
    ),
    "default in metadata": (
        {"type": "object", "properties": {"metadata": {"type": "object", "default": {}}}},
        ".properties[metadata].default",
        "Forbidden: must not be set in top-level metadata",
    ),
    "default of kind": (
        {"type": "object", "properties": {"kind": TEXT | {"default": "K"}}},
        ".properties[kind].default",
        "Forbidden: must not be set in top-level kind",
    ),
    "a field known only to a combination": (
        {"type": "object", "anyOf": [{"properties": {"a": {"minimum": 1}}}]},
        ".properties[a]",
        "Required value: because it is defined in openAPIV3Schema.anyOf[0].properties[a]",
    ),
    "items known only to a combination": (
        {"type": "object", "properties": {"a": {"type": "object"}}, "not": {"properties": {"a": {"items": {}}}}},
        ".properties[a].items",
        "Required value: because it is defined in openAPIV3Schema.not.properties[a].items",
    ),
}


@pytest.mark.parametrize(("raw", "field", "message"), ROOT.values(), ids=ROOT.keys())
def test_a_bad_root_is_refused(raw: dict[str, Any], field: str, message: str) -> None:
    causes = check_schema(raw, "openAPIV3Schema")
    assert any(cause.field == f"openAPIV3Schema{field}" and cause.message.startswith(message) for cause in causes), (
        causes
    )


GOOD: dict[str, dict[str, Any]] = {
    "int-or-string": {"x-kubernetes-int-or-string": True},
    "int-or-string by anyOf": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, TEXT]},
    "int-or-string by allOf": {
        "x-kubernetes-int-or-string": True,
        "allOf": [{"anyOf": [{"type": "integer"}, TEXT]}, {"pattern": "^a"}],
    },
    "anything": {"x-kubernetes-preserve-unknown-fields": True},
    "object that preserves": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "embedded": {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    },
    "map of strings": {"type": "object", "additionalProperties": TEXT},
    "map of anything": {"type": "object", "additionalProperties": True},
    "combinations": {"type": "integer", "anyOf": [{"minimum": 1}, {"enum": [-1]}], "not": {"enum": [5]}},
    "default": {"type": "object", "default": {"a": "x"}, "properties": {"a": TEXT}},
    "unknown format": {"type": "integer", "format": "int53"},
    "nulls": {"type": "string", "pattern": None, "enum": None, "items": None, "properties": None},
}


@pytest.mark.parametrize("member", GOOD.values(), ids=GOOD.keys())
def test_a_good_schema_of_a_field_passes(member: dict[str, Any]) -> None:
    assert check_schema({"type": "object", "properties": {"x": member}}, "s") == []


def test_with_the_status_subresource_the_root_may_not_combine() -> None:
    raw = {"type": "object", "properties": {"a": TEXT}, "oneOf": [{"required": ["a"]}]}
    assert check_schema(raw, "s") == []
    (cause,) = check_schema(raw, "s", has_status=True)
    assert cause.field == "s"
    assert cause.message.startswith('Invalid value: ["oneOf"]: only [description type')


def test_nesting_without_end_is_refused() -> None:
    raw: dict[str, Any] = {"type": "object"}
    for _ in range(150):
        raw = {"type": "object", "properties": {"a": raw}}
    (cause,) = check_schema(raw, "s")
    assert cause.message == "Invalid value: the schema is nested more than 200 levels"


@examples(150)
@given(object_schemas)
def test_a_schema_that_passes_can_be_used(raw: dict[str, Any]) -> None:
    if check_schema(raw, "s") == []:
        assert isinstance(Validator(schema_of(raw)).check({}), list)


WORDS = st.sampled_from(
    (
        *("type", "properties", "items", "additionalProperties", "default", "enum", "anyOf", "not", "pattern"),
        *("format", "required", "minimum", "maxLength", "nullable", "multipleOf", "x-kubernetes-validations"),
        *("x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-int-or-string"),
        "x-kubernetes-embedded-resource",
    )
)


@examples(200)
@given(st.dictionaries(WORDS, any_json))
def test_any_json_as_a_schema_is_answered_with_causes(raw: dict[str, Any]) -> None:
    assert isinstance(check_schema({"type": "object", "properties": {"x": raw}}, "s"), list)
    schema_of(raw)
    assert isinstance(check_form(raw, "s"), list)
