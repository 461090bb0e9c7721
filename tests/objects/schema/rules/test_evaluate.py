from typing import Any

import pytest

from homeostat.objects.crd.schema import check_schema
from homeostat.objects.schema.openapi import schema_of
from homeostat.objects.schema.rules.evaluate import Rules

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}


def ruled(schema: dict[str, Any], *rules: Any) -> dict[str, Any]:
    given = [{"rule": each} if isinstance(each, str) else each for each in rules]
    return schema | {"x-kubernetes-validations": given}


def of(**members: Any) -> dict[str, Any]:
    return {"type": "object", "properties": members}


def told(raw: dict[str, Any], new: dict[str, Any], old: dict[str, Any] | None = None) -> list[tuple[str, str]]:
    return [(cause.field, cause.message) for cause in Rules(schema_of(raw)).check(new, old)]


SPEC = of(low=WHOLE, high=WHOLE, name=TEXT, tags={"type": "array", "items": TEXT, "maxItems": 5})
CASES: dict[str, tuple[Any, dict[str, Any], list[tuple[str, str]]]] = {
    "kept": ("self.low <= self.high", {"low": 1, "high": 2}, []),
    "broken": (
        "self.low <= self.high",
        {"low": 3, "high": 2},
        [("spec", 'Invalid value: "object": failed rule: self.low <= self.high')],
    ),
    "broken, with a message": (
        {"rule": "self.low <= self.high", "message": " low must not be above high "},
        {"low": 3, "high": 2},
        [("spec", 'Invalid value: "object": low must not be above high')],
    ),
    "message expression": (
        {"rule": "self.low < 3", "messageExpression": "'low is ' + string(self.low)", "message": "unused"},
        {"low": 3},
        [("spec", 'Invalid value: "object": low is 3')],
    ),
    "message expression that fails": (
        {"rule": "self.low < 3", "messageExpression": "self.name", "message": "too much"},
        {"low": 3},
        [("spec", 'Invalid value: "object": too much')],
    ),
    "message expression of two lines": (
        {"rule": "false", "messageExpression": "'a\\nb'", "message": "plain"},
        {},
        [("spec", 'Invalid value: "object": plain')],
    ),
    "field path": (
        {"rule": "self.low < 3", "fieldPath": ".low", "message": "too much"},
        {"low": 3},
        [("spec.low", 'Invalid value: "object": too much')],
    ),
    "forbidden": (
        {"rule": "false", "reason": "FieldValueForbidden", "message": "no"},
        {},
        [("spec", "Forbidden: no")],
    ),
    "required": (
        {"rule": "false", "reason": "FieldValueRequired", "message": "name it", "fieldPath": ".name"},
        {},
        [("spec.name", "Required value: name it")],
    ),
    "duplicate": ({"rule": "false", "reason": "FieldValueDuplicate"}, {}, [("spec", 'Duplicate value: "object"')]),
    "an absent field": (
        "self.low < 3",
        {},
        [("spec", 'Invalid value: "object": no such key: low evaluating rule: self.low < 3')],
    ),
    "a guarded field": ("!has(self.low) || self.low < 3", {}, []),
    "a list": (
        "self.tags.all(t, t.size() < 3)",
        {"tags": ["a", "abc"]},
        [("spec", 'Invalid value: "object": failed rule')],
    ),
    "a rule of update on creation": ("self.low == oldSelf.low", {"low": 1}, []),
}


@pytest.mark.parametrize(("rule", "value", "wanted"), CASES.values(), ids=CASES.keys())
def test_a_rule_holds_or_is_reported(rule: Any, value: dict[str, Any], wanted: list[tuple[str, str]]) -> None:
    raw = of(spec=ruled(SPEC, rule))
    assert check_schema(raw, "s") == []
    found = told(raw, {"spec": value})
    assert [(field, text[: len(want[1])]) for (field, text), want in zip(found, wanted, strict=True)] == wanted


def test_rules_stand_at_every_level() -> None:
    few = {"type": "array", "maxItems": 3, "items": ruled(WHOLE, "self > 0")}
    raw = ruled(
        of(spec=of(counts=few, byName={"type": "object", "maxProperties": 3, "additionalProperties": few})),
        "self.metadata.name == 'a' && self.kind == 'Widget'",
    )
    assert check_schema(raw, "s") == []
    value = {"kind": "Widget", "metadata": {"name": "b"}, "spec": {"counts": [1, -1], "byName": {"k": [0]}}}
    assert [field for field, _ in told(raw, value)] == ["", "spec.counts[1]", "spec.byName[k][0]"]


def test_nulls_are_not_checked() -> None:
    raw = of(size=ruled(WHOLE | {"nullable": True}, "self > 0"))
    assert told(raw, {"size": None}) == []


NULLED = TEXT | {"nullable": True}
TEXTS = {"type": "array", "maxItems": 5, "items": NULLED}


@pytest.mark.parametrize("list_type", ["atomic", "set"])
@pytest.mark.parametrize(
    ("rule", "value", "holds"),
    [
        ("self.l == self.m", {"l": ["a", None], "m": ["a", None]}, True),
        ("self.l == self.m", {"l": [None, "a"], "m": [None, "b"]}, False),
        ("self.l != self.m", {"l": ["a", None], "m": ["a", "b"]}, True),
        ("self.l[0] == self.m[0]", {"l": [None], "m": ["a"]}, False),
        ("self.l[0] == self.m[0]", {"l": [None], "m": [None]}, True),
        ("self.l[0] in self.m", {"l": [None], "m": ["a", None]}, True),
        ("self.l[0] in self.m", {"l": ["a"], "m": [None, "b"]}, False),
        ("(self.l + self.m).size() >= 3", {"l": ["a", None], "m": ["b", None]}, True),
    ],
)
def test_a_null_among_texts_is_compared(list_type: str, rule: str, value: dict[str, Any], holds: bool) -> None:
    listed = TEXTS | {"x-kubernetes-list-type": list_type}
    found = told(of(spec=ruled(of(l=listed, m=listed), rule)), {"spec": value})
    assert [text for _, text in found] == ([] if holds else [f'Invalid value: "object": failed rule: {rule}'])


def test_names_are_escaped_in_rules() -> None:
    raw = of(spec=ruled({"type": "object", "properties": {"a-b": WHOLE, "namespace": TEXT}}, "self.a__dash__b > 1"))
    assert check_schema(raw, "s") == []
    assert len(told(raw, {"spec": {"a-b": 1}})) == 1


def test_a_schema_without_rules_has_nothing_to_ask() -> None:
    assert told(of(spec=SPEC), {"spec": {}}) == []


FIXED = ruled(TEXT | {"maxLength": 10}, {"rule": "self == oldSelf", "message": "is immutable"})
PART = of(name=TEXT, value=FIXED) | {"required": ["name"]}
UPDATED = of(
    name=FIXED,
    labels={"type": "object", "maxProperties": 5, "additionalProperties": FIXED},
    parts={
        "type": "array",
        "maxItems": 5,
        "items": PART,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    },
)
UPDATES: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "same": ({"name": "a"}, {"name": "a"}, []),
    "changed": ({"name": "a"}, {"name": "b"}, ["name"]),
    "added": ({}, {"name": "b"}, []),
    "removed": ({"name": "a"}, {}, []),
    "map value changed": ({"labels": {"k": "a"}}, {"labels": {"k": "b", "n": "c"}}, ["labels[k]"]),
    "item changed": (
        {"parts": [{"name": "p", "value": "1"}]},
        {"parts": [{"name": "q", "value": "2"}, {"name": "p", "value": "2"}]},
        ["parts[1].value"],
    ),
}


@pytest.mark.parametrize(("old", "new", "fields"), UPDATES.values(), ids=UPDATES.keys())
def test_a_rule_of_update_sees_what_was_there(old: dict[str, Any], new: dict[str, Any], fields: list[str]) -> None:
    assert check_schema(UPDATED, "s") == []
    assert [field for field, _ in told(UPDATED, new, old)] == fields


def test_an_optional_old_value_may_be_absent() -> None:
    rule = {"rule": "oldSelf.hasValue() || self == 'new'", "optionalOldSelf": True, "message": "start with new"}
    raw = of(state=ruled(TEXT, rule))
    assert check_schema(raw, "s") == []
    assert told(raw, {"state": "new"}) == []
    assert told(raw, {"state": "old"}) == [("state", 'Invalid value: "string": start with new')]
    assert told(raw, {"state": "any"}, {"state": "old"}) == []


def test_what_an_update_leaves_as_it_was_is_let_through() -> None:
    raw = of(
        spec=of(size=ruled(WHOLE, "self < 5"), list={"type": "array", "maxItems": 3, "items": ruled(WHOLE, "self < 5")})
    )
    assert told(raw, {"spec": {"size": 9}}, {"spec": {"size": 9, "list": []}}) == []
    assert [field for field, _ in told(raw, {"spec": {"size": 8}}, {"spec": {"size": 9}})] == ["spec.size"]
    assert told(raw, {"spec": {"list": [9]}}, {"spec": {"size": 1, "list": [9]}}) == []
    assert [field for field, _ in told(raw, {"spec": {"list": [9, 1]}}, {"spec": {"list": [9]}})] == ["spec.list[0]"]


BAD: dict[str, tuple[dict[str, Any], str, str]] = {
    "no expression": (
        ruled(WHOLE, "self >"),
        ".rule",
        'Invalid value: "self >": compilation failed: ERROR: <input>:1:7',
    ),
    "an unknown field": (
        ruled(SPEC, "self.lwo > 1"),
        ".rule",
        'Invalid value: "self.lwo > 1": compilation failed: ERROR',
    ),
    "mixed types": (ruled(WHOLE, "self == 'a'"), ".rule", "Invalid value: \"self == 'a'\": compilation failed: ERROR"),
    "not a condition": (
        ruled(WHOLE, "self + 1"),
        ".rule",
        'Invalid value: "self + 1": cel expression must evaluate to a bool',
    ),
    "a message that is no string": (
        ruled(WHOLE, {"rule": "true", "messageExpression": "1"}),
        ".messageExpression",
        'Invalid value: "true": messageExpression must evaluate to a string',
    ),
    "old value of an atomic item": (
        {"type": "array", "maxItems": 5, "items": ruled(WHOLE, "self == oldSelf")},
        "items.x-kubernetes-validations[0].rule",
        'Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within',
    ),
    "optional without the old value": (
        ruled(WHOLE, {"rule": "self > 1", "optionalOldSelf": True}),
        ".optionalOldSelf",
        "Invalid value: true: may not be set if oldSelf is not used in rule",
    ),
    "on anything": (
        ruled({"x-kubernetes-preserve-unknown-fields": True}, "true"),
        ".rule",
        'Invalid value: "true": rule declared on schema that does not support validation rules',
    ),
    "too costly": (
        ruled({"type": "array", "items": TEXT}, "self.all(a, self.all(b, a == b))"),
        ".rule",
        "Forbidden: estimated rule cost exceeds budget by factor of more than 100x",
    ),
}


@pytest.mark.parametrize(("member", "field", "message"), BAD.values(), ids=BAD.keys())
def test_a_rule_that_cannot_work_is_refused(member: dict[str, Any], field: str, message: str) -> None:
    causes = check_schema(of(x=member), "s")
    assert any(cause.field.endswith(field) and cause.message.startswith(message) for cause in causes), causes


def test_a_rule_that_costs_too_much_ends_the_evaluation() -> None:
    heavy = "self.all(a, self.all(b, self.all(c, a + b + c >= 0)))"
    raw = of(x=ruled({"type": "array", "items": WHOLE}, heavy), y=ruled(WHOLE, "self > 0"))
    causes = Rules(schema_of(raw)).check({"x": list(range(500)), "y": 0})
    assert [cause.field for cause in causes] == ["x"]
    assert "no further validation rules will be run" in causes[0].message


def test_values_of_wrong_types_are_no_exception() -> None:
    raw = of(spec=ruled(SPEC, "self.low < 3 && self.tags.all(t, t != '')"))
    assert Rules(schema_of(raw)).check({"spec": {"low": {}, "tags": 1}})
    assert Rules(schema_of(raw)).check({"spec": []})
