from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.apply.apply import apply
from homeostat.objects.apply.field_diff import fields_of
from homeostat.objects.apply.managed import update_managed
from homeostat.objects.apply.merge import merge
from homeostat.objects.apply.shape import shape_of
from homeostat.objects.errors import BadRequestError, Cause, ConflictError, InvalidError
from tests.objects.apply_cases import CASES, CONFLICTS, ONE, TWO
from tests.objects.ownership import (
    KIND,
    Apply,
    Step,
    Update,
    content,
    entries_of,
    owners,
    take,
    take_all,
    value_of,
)

Json = Any


@pytest.mark.parametrize(("steps", "expected", "managers"), CASES.values(), ids=CASES)
def test_the_object_and_its_owners_after_the_steps(steps: list[Step], expected: str, managers: dict[str, str]) -> None:
    live = take_all(*steps)
    assert content(live) == value_of(expected)
    assert owners(live) == {manager: set(paths.split()) for manager, paths in managers.items()}


@pytest.mark.parametrize(("steps", "last", "expected"), CONFLICTS.values(), ids=CONFLICTS)
def test_a_field_another_manager_holds_is_a_conflict(
    steps: list[Step], last: Apply, expected: list[tuple[str, str]]
) -> None:
    live = take_all(*steps)
    with pytest.raises(ConflictError) as caught:
        take(live, last)
    assert list(caught.value.causes) == [
        Cause("FieldManagerConflict", f"conflict with {who}", field) for who, field in expected
    ]


def test_one_conflict_reads_as_in_kubernetes() -> None:
    with pytest.raises(ConflictError, match=r'^Apply failed with 1 conflict: conflict with "one": \.num$'):
        take_all(Apply(ONE, "num: 1"), Apply(TWO, "num: 2"))


def test_several_conflicts_read_as_in_kubernetes() -> None:
    with pytest.raises(ConflictError) as caught:
        take_all(Update("u", "num: 1, text: x"), Apply(TWO, "num: 2, text: y"))
    assert caught.value.message == 'Apply failed with 2 conflicts: conflicts with "u" using v1:\n- .num\n- .text'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("list: [{name: a}, {name: a}]", r'\.list: duplicate entries for key \[name="a"\]'),
        ("ports: [{name: a}, {name: a, port: 80}]", r'\.ports: duplicate entries for key \[name="a",port=80\]'),
        ("set: [a, b, a]", r'\.set: duplicate entries for key \[="a"\]'),
        ("struct: {list: [{value: x}]}", r"\.struct\.list: every item needs the keys name"),
        ("list: [{name: a, set: [b, b]}]", r'\.list\[name="a"\]\.set: duplicate'),
        ("list: [1]", r"\.list: every item needs"),
        ("set: [{}]", r"\.set: every item needs to be a scalar"),
    ],
)
def test_items_without_a_distinct_key_are_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidError, match=message):
        take_all(Apply(ONE, text))


@pytest.mark.parametrize(
    "config",
    [
        {"metadata": {"managedFields": []}},
        {"metadata": {"managedFields": [{"manager": "x"}]}},
        {"apiVersion": "v2"},
        {"metadata": "x"},
    ],
)
def test_a_configuration_that_is_not_one_is_refused(config: Json) -> None:
    with pytest.raises(BadRequestError):
        apply(None, config, KIND, manager=ONE, api_version="v1", now="")


def test_what_only_the_server_sets_may_be_null() -> None:
    live = {"apiVersion": "v1", "metadata": {"name": "n", "creationTimestamp": "2024-01-01T00:00:00Z"}}
    config = {"metadata": {"name": "n", "creationTimestamp": None, "managedFields": None}, "num": 1}
    first = apply(live, config, KIND, manager=ONE, api_version="v1", now="t")
    assert first["metadata"]["creationTimestamp"] == "2024-01-01T00:00:00Z"
    assert apply(first, config, KIND, manager=ONE, api_version="v1", now="u") is first


def test_metadata_that_names_an_object_is_not_owned() -> None:
    config = {"apiVersion": "v1", "kind": "K", "metadata": {"name": "n", "namespace": "s", "labels": {"a": "x"}}}
    live = apply(None, config, KIND, manager=ONE, api_version="v1", now="t")
    assert owners(live) == {ONE: {".metadata.labels.a"}}


def test_what_was_there_before_the_first_apply_has_a_manager_of_its_own() -> None:
    live = apply({"num": 1, "text": "x"}, {"num": 1}, KIND, manager=ONE, api_version="v1", now="t")
    assert owners(live) == {"before-first-apply": {".num", ".text"}, ONE: {".num"}}


def test_a_first_apply_that_wants_nothing_changes_nothing() -> None:
    live = {"num": 1, "metadata": {"name": "n"}}
    assert apply(live, {"metadata": {"name": "n"}}, KIND, manager=ONE, api_version="v1", now="t") is live


def test_an_entry_says_who_when_and_how() -> None:
    live = apply(None, {"num": 1}, KIND, manager=ONE, api_version="v1", subresource="status", now="t")
    assert entries_of(live) == [
        {
            "manager": ONE,
            "operation": "Apply",
            "apiVersion": "v1",
            "time": "t",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:num": {}},
            "subresource": "status",
        }
    ]


def test_a_new_manager_of_unchanged_fields_leaves_the_times_of_others() -> None:
    live = take(None, Apply(ONE, "num: 1"), now="2024")
    live = take(live, Apply(TWO, "num: 1"), now="2025")
    assert [(entry["manager"], entry["time"]) for entry in entries_of(live)] == [(ONE, "2024"), (TWO, "2025")]


def test_an_applier_is_one_manager_across_versions() -> None:
    live = apply(None, {"num": 1, "text": "x"}, KIND, manager=ONE, api_version="v1", now="t")
    live = apply(live, {"num": 1}, KIND, manager=ONE, api_version="v2", now="u")
    assert content(live) == {"num": 1}
    assert [entry["apiVersion"] for entry in entries_of(live)] == ["v2"]


def test_managers_of_versions_that_are_gone_are_forgotten() -> None:
    live = apply(None, {"num": 1}, KIND, manager=ONE, api_version="v1", now="t")
    live = apply(live, {"num": 2}, KIND, manager=TWO, api_version="v2", now="u", known_versions={"v2"})
    assert owners(live) == {TWO: {".num"}}


def test_ignored_fields_are_neither_owned_nor_in_conflict() -> None:
    live = take_all(Update("u", "text: x, num: 1"))
    live = apply(live, {"text": "y", "num": 1}, KIND, manager=ONE, api_version="v1", now="t", ignore={"f:text": {}})
    assert owners(live)[ONE] == {".num"}


def configs() -> st.SearchStrategy[Json]:
    words = st.sampled_from(["x", "y"])
    struct = st.fixed_dictionaries({}, optional={"a": words, "b": st.integers(0, 1)})
    some_items = st.lists(
        st.fixed_dictionaries({"name": st.sampled_from("abc")}, optional={"value": words, "inner": struct}),
        max_size=3,
        unique_by=lambda each: str(each["name"]),
    )
    return st.fixed_dictionaries(
        {},
        optional={
            "num": st.integers(0, 1) | st.none(),
            "map": st.dictionaries(st.sampled_from("abc"), words, max_size=2),
            "struct": struct | st.none(),
            "list": some_items,
            "set": st.lists(st.sampled_from("abc"), unique=True),
            "atomicList": st.lists(words, max_size=2),
            "any": st.none() | words | st.dictionaries(st.sampled_from("ab"), words | struct),
        },
    )


steps = st.lists(
    st.tuples(st.sampled_from(["apply", "update"]), st.sampled_from([ONE, TWO]), configs()), min_size=1, max_size=4
)


def _run(found: list[tuple[str, str, Json]]) -> Json:
    live: Json = None
    for verb, manager, value in found:
        if verb == "apply":
            live = apply(live, value, KIND, manager=manager, force=True, api_version="v1", now="t")
        else:
            entries = update_managed(live, value, KIND, manager=manager, api_version="v1", now="t")
            live = {**value, "metadata": {"managedFields": entries}}
    return live


@given(steps, configs())
def test_applying_twice_changes_nothing(found: list[tuple[str, str, Json]], config: Json) -> None:
    once = apply(_run(found), config, KIND, manager=ONE, force=True, api_version="v1", now="t")
    assert apply(once, config, KIND, manager=ONE, api_version="v1", now="later") is once


@given(steps, configs())
def test_the_applied_fields_are_there_and_owned(found: list[tuple[str, str, Json]], config: Json) -> None:
    shape = shape_of(KIND)
    live = apply(_run(found), config, KIND, manager=ONE, force=True, api_version="v1", now="t")
    mine = [
        entry["fieldsV1"] for entry in entries_of(live) if entry["manager"] == ONE and entry["operation"] == "Apply"
    ]
    assert mine == ([fields] if (fields := fields_of(config, shape)) else [])
    assert merge(live, config, shape) is live


@given(configs(), configs())
def test_a_lone_applier_gets_its_configuration_and_nothing_else(first: Json, second: Json) -> None:
    live = _run([("apply", ONE, first), ("apply", ONE, second)])
    alone = _run([("apply", ONE, second)])
    unowned = [name for name in ("list", "set") if first.get(name) == []]
    assert {k: v for k, v in content(live).items() if k in second or k not in unowned} == content(alone)
