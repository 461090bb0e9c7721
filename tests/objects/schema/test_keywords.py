from typing import Any

import pytest

from homeostat.objects.crd.schema import check_schema

TEXT = {"type": "string"}


def items(keys: list[str], **changes: Any) -> dict[str, Any]:
    one = {"type": "object", "required": ["name"], "properties": {"name": TEXT, "port": {"type": "integer"}}}
    return {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": keys,
        "items": one | changes,
    }


# The schema of a member x, the field of the cause below it, and how the message starts.
CASES: dict[str, tuple[dict[str, Any], str, str]] = {
    "map type of a string": (
        TEXT | {"x-kubernetes-map-type": "atomic"},
        ".type",
        'Invalid value: "string": must be object if x-kubernetes-map-type is specified',
    ),
    "unknown map type": (
        {"type": "object", "x-kubernetes-map-type": "x"},
        ".x-kubernetes-map-type",
        'Unsupported value: "x": supported values: "atomic", "granular"',
    ),
    "list type of a string": (
        TEXT | {"x-kubernetes-list-type": "atomic"},
        ".type",
        'Invalid value: "string": must be array if x-kubernetes-list-type is specified',
    ),
    "unknown list type": (
        {"type": "array", "items": TEXT, "x-kubernetes-list-type": "x"},
        ".x-kubernetes-list-type",
        'Unsupported value: "x": supported values: "atomic", "map", "set"',
    ),
    "keys without list type": (
        {"type": "array", "items": TEXT, "x-kubernetes-list-map-keys": ["a"]},
        ".x-kubernetes-list-type",
        "Required value: must be map if x-kubernetes-list-map-keys is non-empty",
    ),
    "keys of a set": (
        {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set", "x-kubernetes-list-map-keys": ["a"]},
        ".x-kubernetes-list-type",
        'Invalid value: "set": must be map if x-kubernetes-list-map-keys is non-empty',
    ),
    "map without keys": (
        items([]),
        ".x-kubernetes-list-map-keys",
        "Required value: must not be empty if x-kubernetes-list-type is map",
    ),
    "map of strings": (
        items(["name"], type="string"),
        ".items.type",
        'Invalid value: "string": must be object if parent array\'s x-kubernetes-list-type is map',
    ),
    "key that is not there": (
        items(["nam"]),
        ".x-kubernetes-list-map-keys",
        'Invalid value: ["nam"]: entries must all be names of item properties',
    ),
    "key twice": (
        items(["name", "name"]),
        ".x-kubernetes-list-map-keys",
        'Invalid value: ["name","name"]: must not contain duplicate entries',
    ),
    "key neither required nor defaulted": (
        items(["name", "port"]),
        ".items.properties[port].default",
        "Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required",
    ),
    "nullable key": (
        items(["name"], properties={"name": TEXT | {"nullable": True}}),
        ".items.properties[name].nullable",
        "Forbidden: this property is in x-kubernetes-list-map-keys, so it cannot be nullable",
    ),
    "nullable item of a map": (
        items(["name"], nullable=True),
        ".items.nullable",
        "Forbidden: cannot be nullable when x-kubernetes-list-type is map",
    ),
    "key that is a list": (
        items(["name"], properties={"name": {"type": "array", "items": TEXT}}),
        ".items.properties[name].type",
        'Invalid value: "array": must be a scalar type',
    ),
    "set of granular objects": (
        {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object", "properties": {"a": TEXT}}},
        ".items.x-kubernetes-map-type",
        "Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set",
    ),
    "nullable item of a set": (
        {"type": "array", "x-kubernetes-list-type": "set", "items": TEXT | {"nullable": True}},
        ".items.nullable",
        "Forbidden: cannot be nullable when x-kubernetes-list-type is set",
    ),
    "rule without text": (
        TEXT | {"x-kubernetes-validations": [{"rule": " "}]},
        ".x-kubernetes-validations[0].rule",
        "Required value: rule is not specified",
    ),
    "rule with a blank message": (
        TEXT | {"x-kubernetes-validations": [{"rule": "true", "message": " "}]},
        ".x-kubernetes-validations[0].message",
        'Invalid value: " ": message must be non-empty if specified',
    ),
    "rule with a long message": (
        TEXT | {"x-kubernetes-validations": [{"rule": "true", "message": "a\nb"}]},
        ".x-kubernetes-validations[0].message",
        r'Invalid value: "a\nb": message must not contain line breaks',
    ),
    "rule of several lines": (
        TEXT | {"x-kubernetes-validations": [{"rule": "true &&\ntrue"}]},
        ".x-kubernetes-validations[0].message",
        "Required value: message must be specified if rule contains line breaks",
    ),
    "rule with an unknown reason": (
        TEXT | {"x-kubernetes-validations": [{"rule": "true", "reason": "X"}]},
        ".x-kubernetes-validations[0].reason",
        'Unsupported value: "X": supported values: "FieldValueDuplicate", "FieldValueForbidden"',
    ),
    "rule with a path to nothing": (
        TEXT | {"x-kubernetes-validations": [{"rule": "true", "fieldPath": ".a"}]},
        ".x-kubernetes-validations[0].fieldPath",
        'Invalid value: ".a": fieldPath must be a valid path',
    ),
    "rule with a blank message expression": (
        TEXT | {"x-kubernetes-validations": [{"rule": "true", "messageExpression": " "}]},
        ".x-kubernetes-validations[0].messageExpression",
        "Required value: messageExpression must be non-empty if specified",
    ),
    "type is a list": ({"type": ["string"]}, ".type", 'Invalid value: "array": must be a string'),
    "enum is a string": (TEXT | {"enum": "a"}, ".enum", 'Invalid value: "string": must be an array'),
    "minimum is a string": (
        {"type": "integer", "minimum": "1"},
        ".minimum",
        'Invalid value: "string": must be a number',
    ),
    "length is a fraction": (TEXT | {"maxLength": 1.5}, ".maxLength", 'Invalid value: "number": must be an integer'),
    "properties is a list": (
        {"type": "object", "properties": []},
        ".properties",
        'Invalid value: "array": must be an object',
    ),
    "required holds numbers": (
        {"type": "object", "required": [1]},
        ".required[0]",
        'Invalid value: "integer": must be a string',
    ),
    "member is null": ({"type": "object", "properties": {"a": None}}, ".properties[a]", 'Invalid value: "null"'),
    "rules is an object": (
        TEXT | {"x-kubernetes-validations": {}},
        ".x-kubernetes-validations",
        'Invalid value: "object": must be an array',
    ),
}


@pytest.mark.parametrize(("member", "field", "message"), CASES.values(), ids=CASES.keys())
def test_keywords_stand_where_they_may(member: dict[str, Any], field: str, message: str) -> None:
    causes = check_schema({"type": "object", "properties": {"x": member}}, "s")
    assert any(cause.field == f"s.properties[x]{field}" and cause.message.startswith(message) for cause in causes), (
        causes
    )


GOOD: dict[str, dict[str, Any]] = {
    "list map": items(["name"]),
    "list map with a default key": items(["port"], properties={"port": {"type": "integer", "default": 80}}),
    "set of strings": {"type": "array", "x-kubernetes-list-type": "set", "items": TEXT},
    "set of atomic objects": {
        "type": "array",
        "x-kubernetes-list-type": "set",
        "items": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": TEXT}},
    },
}


@pytest.mark.parametrize("member", GOOD.values(), ids=GOOD.keys())
def test_list_types_that_can_be_kept_pass(member: dict[str, Any]) -> None:
    assert check_schema({"type": "object", "properties": {"x": member}}, "s") == []
