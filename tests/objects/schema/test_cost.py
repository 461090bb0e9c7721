"""What a validation costs, and that a costly one ends."""

from __future__ import annotations

from typing import Any

import pytest

from homeostat.objects.schema.cost import MOST_STEPS, TooComplexError, Validation, cost_plan
from homeostat.objects.schema.explain import explain
from homeostat.objects.schema.openapi import schema_of
from homeostat.objects.schema.validate import Validator


def lists(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": {"type": "array", "items": items}}}


def branches(word: str, count: int) -> dict[str, Any]:
    return lists({"type": "integer", word: [{"minimum": -at} for at in range(count)]})


COSTLY = {
    "anyOf": branches("anyOf", 1000),
    "allOf": branches("allOf", 1000),
    "oneOf": branches("oneOf", 1000),
    "not": lists({"type": "integer", "not": {"anyOf": [{"minimum": at} for at in range(1000)]}}),
}


def test_a_plain_schema_has_no_plan() -> None:
    member = {"type": "string", "pattern": "^[a-z]+$", "enum": ["a", "b"]}
    assert cost_plan(schema_of({"type": "object", "properties": {"a": member}})) is None


@pytest.mark.parametrize("schema", COSTLY.values(), ids=COSTLY)
def test_the_cost_is_branches_times_items(schema: dict[str, Any]) -> None:
    plan = cost_plan(schema_of(schema))
    assert plan is not None
    assert 500 * 1000 <= plan.estimate({"a": [1] * 500}) <= 500 * 1100


def test_a_branch_sees_all_that_is_below_its_value() -> None:
    plan = cost_plan(schema_of({"type": "object", "anyOf": [{"properties": {"a": {}}}, {"required": ["b"]}]}))
    assert plan is not None
    assert plan.estimate({"a": [1] * 100}) == 3 * 102


def test_a_heavy_pattern_costs_by_the_length_of_the_text() -> None:
    plan = cost_plan(schema_of({"type": "string", "pattern": "^[a-z]{1,500}$"}))
    assert plan is not None
    assert plan.estimate("a" * 1600) == pytest.approx(100 * plan.estimate(""), rel=0.02)


def test_known_members_cost_for_each_object() -> None:
    plan = cost_plan(schema_of(lists({"type": "object", "properties": {f"p{at}": {} for at in range(1000)}})))
    assert plan is not None
    assert plan.estimate({"a": [{}] * 50}) == 50 * 1000


@pytest.mark.slow
@pytest.mark.parametrize("schema", COSTLY.values(), ids=COSTLY)
def test_a_costly_validation_ends_with_a_cause_that_says_why(schema: dict[str, Any]) -> None:
    causes = Validator(schema_of(schema)).check({"a": [5] * 3000}, is_large=True)
    assert [cause.kind for cause in causes] in (["FieldValueForbidden"], ["FieldValueInvalid"] * 100)
    if len(causes) == 1:
        assert f"more than {MOST_STEPS} steps" in causes[0].message


def test_all_branches_of_all_items_share_one_budget() -> None:
    run = Validation(steps=100)
    run.spend(100)
    with pytest.raises(TooComplexError):
        run.spend()
    assert explain({"a": [1] * 10}, schema_of(branches("allOf", 100)), run=Validation(steps=500))[0].kind == (
        "FieldValueForbidden"
    )
    assert explain({"a": [1] * 10}, schema_of(branches("allOf", 100)), run=Validation(steps=1000)) == []


def test_a_long_walk_without_branches_costs_nothing() -> None:
    assert explain({"a": [1] * 1000}, schema_of(lists({"type": "integer"})), run=Validation(steps=0)) == []
