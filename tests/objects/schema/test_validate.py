import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.schema.json_schema import accepter
from homeostat.objects.schema.openapi import schema_of
from homeostat.objects.schema.schema import Schema
from homeostat.objects.schema.validate import Validator
from tests.examples import examples
from tests.objects.schemas import any_json, object_schemas, objects

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}


def of_type(wanted: str, found: str) -> str:
    return f'Invalid value: "{found}": x in body must be of type {wanted}: "{found}"'


def text(**more: Any) -> dict[str, Any]:
    return {"type": "string"} | more


def whole(**more: Any) -> dict[str, Any]:
    return {"type": "integer"} | more


def listed(**more: Any) -> dict[str, Any]:
    return {"type": "array", "items": WHOLE} | more


# The schema of a member x and its value; the message, or the field and the message, or None if it is accepted.
CASES: dict[str, tuple[dict[str, Any], Any, Any]] = {
    "string": (TEXT, "a", None),
    "string: integer": (TEXT, 1, of_type("string", "integer")),
    "string: boolean": (TEXT, True, of_type("string", "boolean")),
    "string: null": (TEXT, None, of_type("string", "null")),
    "string: list": (TEXT, [], of_type("string", "array")),
    "string: object": (TEXT, {}, of_type("string", "object")),
    "nullable: null": (text(nullable=True), None, None),
    "integer": (WHOLE, 3, None),
    "integer: string": (WHOLE, "3", of_type("integer", "string")),
    "integer: fraction": (WHOLE, 1.5, of_type("integer", "number")),
    "integer: whole float": (WHOLE, 3.0, None),
    "integer: boolean": (WHOLE, True, of_type("integer", "boolean")),
    "integer: 64 bits": (WHOLE, 2**63 - 1, None),
    "integer: beyond 64 bits": (WHOLE, 2**63, of_type("integer", "number")),
    "integer: huge": (WHOLE, 10**40, of_type("integer", "number")),
    "number": ({"type": "number"}, 1.5, None),
    "number: integer": ({"type": "number"}, 1, None),
    "number: string": ({"type": "number"}, "1", of_type("number", "string")),
    "boolean": ({"type": "boolean"}, False, None),
    "boolean: integer": ({"type": "boolean"}, 0, of_type("boolean", "integer")),
    "object: list": ({"type": "object"}, [], of_type("object", "array")),
    "array: object": (listed(), {}, of_type("array", "object")),
    "items": (listed(), [1, 2], None),
    "items: string": (
        listed(),
        [1, "a"],
        ("x[1]", 'Invalid value: "string": x[1] in body must be of type integer: "string"'),
    ),
    "items: null": (listed(), [None], ("x[0]", 'Invalid value: "null": x[0] in body must be of type integer: "null"')),
    "int-or-string: integer": ({"x-kubernetes-int-or-string": True}, 1, None),
    "int-or-string: string": ({"x-kubernetes-int-or-string": True}, "50%", None),
    "int-or-string: boolean": ({"x-kubernetes-int-or-string": True}, True, of_type("integer,string", "boolean")),
    "int-or-string: fraction": ({"x-kubernetes-int-or-string": True}, 1.5, of_type("integer,string", "number")),
    "int-or-string by anyOf": (
        {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        "1",
        None,
    ),
    "anything": ({"x-kubernetes-preserve-unknown-fields": True}, [1, {"a": None}], None),
    "anything: null": ({"x-kubernetes-preserve-unknown-fields": True}, None, None),
    "enum": (text(enum=["a", "b"]), "a", None),
    "enum: other": (text(enum=["b", "a"]), "x", 'Unsupported value: "x": supported values: "b", "a"'),
    "enum of numbers": (whole(enum=[1, 2]), 3, 'Unsupported value: 3: supported values: "1", "2"'),
    "enum: true is not 1": (
        {"x-kubernetes-preserve-unknown-fields": True, "enum": [1]},
        True,
        "Unsupported value: true",
    ),
    "enum: 1.0 is 1": ({"type": "number", "enum": [1]}, 1.0, None),
    "enum and null": (text(enum=["a"], nullable=True), None, "Unsupported value: null"),
    "enum with null": (text(enum=["a", None], nullable=True), None, None),
    "minimum": (whole(minimum=0), 0, None),
    "minimum: below": (whole(minimum=0), -1, "Invalid value: -1: x in body should be greater than or equal to 0"),
    "exclusive minimum": (
        whole(minimum=0, exclusiveMinimum=True),
        0,
        "Invalid value: 0: x in body should be greater than 0",
    ),
    "maximum": (whole(maximum=5), 5, None),
    "maximum: above": (whole(maximum=5), 6, "Invalid value: 6: x in body should be less than or equal to 5"),
    "exclusive maximum": (
        whole(maximum=5, exclusiveMaximum=True),
        5,
        "Invalid value: 5: x in body should be less than 5",
    ),
    "maximum of a fraction": (
        {"type": "number", "maximum": 0.5},
        0.75,
        "Invalid value: 0.75: x in body should be less",
    ),
    "multipleOf": (whole(multipleOf=5), 10, None),
    "multipleOf: not": (whole(multipleOf=5), 7, "Invalid value: 7: x in body should be a multiple of 5"),
    "multipleOf: fraction": ({"type": "number", "multipleOf": 0.1}, 0.3, None),
    "maxLength": (text(maxLength=2), "éé", None),
    "maxLength: longer": (text(maxLength=5), "abcdef", "Too long: may not be more than 5 bytes"),
    "minLength": (text(minLength=1), "", 'Invalid value: "": x in body should be at least 1 chars long'),
    "pattern": (text(pattern="^[a-z]+$"), "abc", None),
    "pattern: other": (text(pattern="^[a-z]+$"), "A", "Invalid value: \"A\": x in body should match '^[a-z]+$'"),
    "pattern: not anchored": (text(pattern="b"), "abc", None),
    "pattern: a line break at the end": (text(pattern="^a$"), "a\n", r'Invalid value: "a\n": x in body should match'),
    "pattern: disastrous": (text(pattern="^(a+)+$"), "a" * 60 + "!", "Invalid value"),
    "minItems": (listed(minItems=1), [], "Invalid value: 0: x in body should have at least 1 items"),
    "maxItems": (listed(maxItems=1), [1, 2], "Too many: 2: must have at most 1 items"),
    "minProperties": (
        {"type": "object", "minProperties": 1},
        {},
        "Invalid value: 0: x in body should have at least 1 properties",
    ),
    "maxProperties": (
        {"type": "object", "maxProperties": 1, "additionalProperties": WHOLE},
        {"a": 1, "b": 2},
        "Too many: 2: must have at most 1 items",
    ),
    "required": ({"type": "object", "required": ["a"]}, {}, ("x.a", "Required value")),
    "required: there": ({"type": "object", "required": ["a"], "properties": {"a": TEXT}}, {"a": ""}, None),
    "map values": (
        {"type": "object", "additionalProperties": WHOLE},
        {"k": "v"},
        ("x.k", 'Invalid value: "string": x.k in body must be of type integer: "string"'),
    ),
    "unknown fields are not validated": ({"type": "object", "properties": {"a": TEXT}}, {"b": 1}, None),
    "anyOf": (whole(anyOf=[{"minimum": 5}, {"maximum": 1}]), 0, None),
    "anyOf: none": (
        whole(anyOf=[{"minimum": 5}, {"maximum": 1}]),
        3,
        'Invalid value: "": "x" must validate at least one schema (anyOf)',
    ),
    "oneOf": (whole(oneOf=[{"minimum": 5}, {"maximum": 1}]), 0, None),
    "oneOf: none": (
        whole(oneOf=[{"minimum": 5}, {"maximum": 1}]),
        3,
        'Invalid value: "": "x" must validate one and only one schema (oneOf). Found none valid',
    ),
    "oneOf: both": (
        whole(oneOf=[{"minimum": 1}, {"minimum": 2}]),
        3,
        'Invalid value: "": "x" must validate one and only one schema (oneOf). Found 2 valid alternatives',
    ),
    "allOf": (whole(allOf=[{"minimum": 1}, {"maximum": 5}]), 3, None),
    "allOf: one": (
        whole(allOf=[{"minimum": 1}, {"maximum": 5}]),
        6,
        "Invalid value: 6: x in body should be less than or equal to 5",
    ),
    "allOf: none": (
        whole(allOf=[{"minimum": 5}, {"enum": [9]}]),
        1,
        'Invalid value: "": "x" must validate all the schemas (allOf). None validated',
    ),
    "not": (whole(**{"not": {"enum": [3]}}), 3, 'Invalid value: "": "x" must not validate the schema (not)'),
    "not: fine": (whole(**{"not": {"enum": [3]}}), 4, None),
    "combinations ask nothing of null": (whole(nullable=True, **{"not": {}}), None, None),
    "required of a combination": (
        {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {},
        ("x.a", "Required value"),
    ),
    "set": ({"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"}, ["a", "b"], None),
    "set: twice": (
        {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
        ["a", "b", "a", "a"],
        ("x[2]", 'Duplicate value: "a"'),
    ),
    "embedded": (
        {"type": "object", "x-kubernetes-embedded-resource": True},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {}},
        None,
    ),
    "embedded: no kind": (
        {"type": "object", "x-kubernetes-embedded-resource": True},
        {"apiVersion": "v1"},
        ("x.kind", "Required value"),
    ),
    "embedded: empty apiVersion": (
        {"type": "object", "x-kubernetes-embedded-resource": True},
        {"apiVersion": "", "kind": "Pod"},
        ("x.apiVersion", 'Invalid value: "": must not be empty'),
    ),
    "embedded: numeric kind": (
        {"type": "object", "x-kubernetes-embedded-resource": True},
        {"apiVersion": "v1", "kind": 1},
        ("x.kind", "Invalid value: 1: must be a string"),
    ),
    "embedded: bad kind": (
        {"type": "object", "x-kubernetes-embedded-resource": True},
        {"apiVersion": "v1", "kind": "a b"},
        ("x.kind", 'Invalid value: "a b": may have mixed case'),
    ),
    "embedded: bad apiVersion": (
        {"type": "object", "x-kubernetes-embedded-resource": True},
        {"apiVersion": "a/b/c", "kind": "K"},
        ("x.apiVersion", 'Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'),
    ),
    "embedded: metadata": (
        {"type": "object", "x-kubernetes-embedded-resource": True},
        {"apiVersion": "v1", "kind": "K", "metadata": 1},
        ("x.metadata", "Invalid value: 1: must be an object"),
    ),
    "format on an integer": (whole(format="int32"), 2**40, None),
    "unknown format": (text(format="colour"), "anything", None),
    **{
        f"format {name}: {value}": (text(format=name), value, None)
        for name, value in (
            ("date", "2024-02-29"),
            ("date-time", "2024-02-29T12:00:00Z"),
            ("datetime", "2024-02-29T12:00:00.123+02:00"),
            ("duration", "1h30m"),
            ("duration", "2 days"),
            ("byte", "aGVsbG8="),
            ("ipv4", "10.0.0.1"),
            ("ipv6", "fe80::1"),
            ("cidr", "10.0.0.0/8"),
            ("cidr", "fe80::/64"),
            ("uri", "https://example.com/a?b"),
            ("uri", "/relative/path"),
            ("email", "a.b@example.com"),
            ("hostname", "db-1.example.com"),
            ("uuid", "123e4567-e89b-12d3-a456-426614174000"),
            ("mac", "00:1B:44:11:3a:b7"),
        )
    },
    **{
        f"format {name}: not {value}": (text(format=name), value, of_type(name, value))
        for name, value in (
            ("date", "2024-02-30"),
            ("date", "20240229"),
            ("date-time", "2024-02-29 12:00"),
            ("date-time", "2024-13-01T00:00:00Z"),
            ("duration", "soon"),
            ("duration", "1"),
            ("byte", "a b"),
            ("ipv4", "10.0.0.256"),
            ("ipv4", "fe80::1"),
            ("ipv6", "10.0.0.1"),
            ("cidr", "10.0.0.0"),
            ("cidr", "10.0.0.0/33"),
            ("uri", "not a uri"),
            ("email", "nobody"),
            ("hostname", "-a.example.com"),
            ("uuid", "123"),
            ("mac", "00:1B"),
        )
    },
}


@pytest.mark.parametrize(("member", "value", "wanted"), CASES.values(), ids=CASES.keys())
def test_a_value_is_accepted_or_refused_in_the_words_of_kubernetes(
    member: dict[str, Any], value: Any, wanted: Any
) -> None:
    causes = Validator(schema_of({"type": "object", "properties": {"x": member}})).check({"x": value})
    if wanted is None:
        assert causes == []
        return
    field, message = wanted if isinstance(wanted, tuple) else ("x", wanted)
    assert any(cause.field == field and cause.message.startswith(message) for cause in causes), causes


def test_a_type_has_its_own_kind_of_cause() -> None:
    (cause,) = Validator(schema_of({"type": "object", "properties": {"size": WHOLE}})).check({"size": "a"})
    assert cause.kind == "FieldValueTypeInvalid"


MAP = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name", "port"],
    "items": {"type": "object", "properties": {"name": TEXT, "port": WHOLE, "size": whole(maximum=5)}},
}
REPEATED: dict[str, tuple[list[Any], list[tuple[str, str]]]] = {
    "apart by one key": ([{"name": "a", "port": 1}, {"name": "a", "port": 2}], []),
    "both the same": (
        [{"name": "a", "port": 1}, {"name": "a", "port": 1, "size": 2}],
        [("x[1]", 'Duplicate value: {"name":"a","port":1}')],
    ),
    "one key left out": ([{"name": "a"}, {"name": "a"}], [("x[1]", 'Duplicate value: {"name":"a"}')]),
    "empty items": ([{}, {}], [("x[1]", "Duplicate value: {}")]),
}


@pytest.mark.parametrize(("items", "wanted"), REPEATED.values(), ids=REPEATED.keys())
def test_keys_of_a_list_map_are_unique(items: list[Any], wanted: list[tuple[str, str]]) -> None:
    causes = Validator(schema_of({"type": "object", "properties": {"x": MAP}})).check({"x": items})
    assert [(cause.field, cause.message) for cause in causes] == wanted


def test_lists_are_found_inside_maps_and_lists() -> None:
    labels = {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"}
    raw = {
        "type": "object",
        "properties": {
            "m": {"type": "object", "additionalProperties": labels},
            "l": {"type": "array", "items": {"type": "object", "properties": {"s": labels}}},
        },
    }
    causes = Validator(schema_of(raw)).check({"m": {"k": ["a", "a"]}, "l": [{}, {"s": ["b", "b"]}]})
    assert [cause.field for cause in causes] == ["m[k][1]", "l[1].s[1]"]


SPEC = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["name"],
            "properties": {
                "name": text(maxLength=3),
                "size": whole(maximum=5),
                "flag": {"type": "boolean"},
                "parts": MAP,
                "plain": {"type": "array", "items": whole(maximum=5)},
                "tags": {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
            },
        }
    },
}
UPDATES: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "nothing wrong": ({"name": "a"}, {"name": "b"}, []),
    "unchanged fault": ({"name": "a", "size": 9}, {"name": "b", "size": 9}, []),
    "changed fault": ({"name": "a", "size": 9}, {"name": "a", "size": 8}, ["spec.size"]),
    "new fault": ({"name": "a"}, {"name": "a", "size": 9}, ["spec.size"]),
    "missing before and now": ({"size": 1}, {"size": 2}, ["spec.name"]),
    "nothing changed at all": ({"size": 9}, {"size": 9}, []),
    "an item of a map keeps its place": (
        {"name": "a", "parts": [{"name": "p", "size": 9}]},
        {"name": "a", "parts": [{"name": "q", "size": 1}, {"name": "p", "size": 9}]},
        [],
    ),
    "a changed item of a map": (
        {"name": "a", "parts": [{"name": "p", "size": 9}]},
        {"name": "a", "parts": [{"name": "p", "size": 8}]},
        ["spec.parts[0].size"],
    ),
    "an atomic list is new when changed": (
        {"name": "a", "plain": [9]},
        {"name": "a", "plain": [9, 1]},
        ["spec.plain[0]"],
    ),
    "one is not true": ({"name": "a", "flag": 1}, {"name": "a", "flag": 1.0}, []),
    "true was one": ({"name": "a", "flag": True}, {"name": "a", "flag": 1}, ["spec.flag"]),
    "repeated before": ({"name": "a", "tags": ["x", "x"]}, {"name": "b", "tags": ["x", "x"]}, []),
    "repeated now": ({"name": "a", "tags": ["x"]}, {"name": "b", "tags": ["x", "x"]}, ["spec.tags[1]"]),
}


@pytest.mark.parametrize(("old", "new", "fields"), UPDATES.values(), ids=UPDATES.keys())
def test_an_update_is_not_refused_for_what_it_leaves_as_it_was(
    old: dict[str, Any], new: dict[str, Any], fields: list[str]
) -> None:
    causes = Validator(schema_of(SPEC)).check_update({"spec": new}, {"spec": old})
    assert [cause.field for cause in causes] == fields


def test_a_list_full_of_faults_is_not_answered_with_all_of_them() -> None:
    causes = Validator(schema_of({"type": "object", "properties": {"x": listed()}})).check({"x": ["a"] * 100_000})
    assert len(causes) == 100


def test_a_schema_that_the_engine_cannot_take_is_still_enforced() -> None:
    schema = Schema(type="object", properties={"x": Schema(type="string", constraints={"pattern": "("})})
    (cause,) = Validator(schema).check({"x": "a"})
    assert cause.message == "Invalid value: \"a\": x in body should match '('"


MATCHED: dict[str, tuple[dict[str, Any], list[str], list[str]]] = {
    "a heavy pattern": ({"pattern": "^[ab]{1,900}c$"}, ["abc"], ["c", "abd"]),
    "a heavy pattern and a format": ({"pattern": "^.{1,900}$", "format": "date"}, ["2024-01-01"], ["2024-1-1", ""]),
}


@pytest.mark.parametrize(("schema", "good", "bad"), MATCHED.values(), ids=MATCHED)
@pytest.mark.parametrize("is_large", [False, True], ids=["small", "large"])
def test_a_heavy_pattern_is_matched_outside_the_engine(
    schema: dict[str, Any], good: list[str], bad: list[str], is_large: bool
) -> None:
    validator = Validator(schema_of({"type": "object", "properties": {"x": text(**schema)}}))
    assert [each for each in good + bad if not validator.check({"x": each}, is_large=is_large)] == good


def test_patterns_are_checked_however_many_there_are() -> None:
    members = {f"m{at}": text(pattern=f"^v{at}$") for at in range(1_000)}
    validator = Validator(schema_of({"type": "object", "properties": members}))
    assert validator.check({f"m{at}": f"v{at}" for at in range(1_000)}) == []
    assert [cause.field for cause in validator.check({"m3": "v3", "m700": "v7", "m999": "v999"})] == ["m700"]


@pytest.mark.slow
def test_a_very_large_schema_is_checked_as_well() -> None:
    validator = Validator(schema_of({"type": "object", "properties": {f"m{at}": WHOLE for at in range(25_000)}}))
    with pytest.raises(ValueError, match="more than 20000 parts"):
        accepter(validator.schema)
    assert validator.check({"m0": 1, "m24999": 2}) == []
    assert [cause.field for cause in validator.check({"m0": 1, "m24999": "2"})] == ["m24999"]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "string", "enum": [f"e{at}" for at in range(100_000)]}}},
        {"type": "object", "required": [f"e{at}" for at in range(100_000)]},
        {"type": "object", "properties": {f"m{at}": WHOLE | {"minimum": 1, "maximum": 5} for at in range(10_000)}},
    ],
    ids=["choices", "required names", "bounds"],
)
def test_a_schema_of_many_values_is_not_compiled_in_one_step(schema: Any) -> None:
    with pytest.raises(ValueError, match="more than 12000 values"):
        accepter(schema_of(schema))


def test_a_text_too_long_for_its_pattern_is_refused_in_words() -> None:
    validator = Validator(schema_of({"type": "object", "properties": {"x": text(pattern="[ab]*a[ab]{900}c")}}))
    (cause,) = validator.check({"x": "ab" * 1_000_000})
    assert cause.message == (
        f'Invalid value: "{"ab" * 32}...": x in body should match '
        "'[ab]*a[ab]{900}c'; a value of 2000000 characters is too long to check"
    )


@examples(150)
@given(object_schemas, objects)
def test_an_object_may_always_be_stored_again_as_it_is(raw: dict[str, Any], value: dict[str, Any]) -> None:
    assert Validator(schema_of(raw)).check_update(value, copy.deepcopy(value)) == []


@examples(150)
@given(object_schemas, st.dictionaries(st.text(max_size=2), any_json), st.dictionaries(st.text(max_size=2), any_json))
def test_any_json_is_answered(raw: dict[str, Any], new: dict[str, Any], old: dict[str, Any]) -> None:
    validator = Validator(schema_of(raw))
    assert isinstance(validator.check(new), list)
    assert isinstance(validator.check_update(new, old), list)
