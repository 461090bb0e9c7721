from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.apply.field_set import (
    FieldSet,
    check,
    difference,
    intersection,
    ordered,
    path_text,
    paths,
    union,
    without,
)
from homeostat.objects.errors import BadRequestError

Json = Any
Path = tuple[str, ...]

elements = st.sampled_from(["f:a", "f:b", 'k:{"n":1}', 'v:"x"'])
path_sets = st.sets(st.lists(elements, min_size=1, max_size=3).map(tuple), max_size=6)


def set_of(members: set[Path]) -> FieldSet:
    result: FieldSet = {}
    for path in sorted(members):
        node: FieldSet = {}
        for element in reversed(path):
            node = {element: node}
        result = union(result, node)
    return result


def members(fields: FieldSet) -> set[Path]:
    return set(paths(fields))


@given(path_sets)
def test_a_set_has_the_members_it_was_made_of(found: set[Path]) -> None:
    fields = set_of(found)
    assert members(fields) == found
    assert check(fields) is fields


@given(path_sets, path_sets)
def test_the_operations_are_those_of_sets(left: set[Path], right: set[Path]) -> None:
    ours, theirs = set_of(left), set_of(right)
    assert members(union(ours, theirs)) == left | right
    assert members(difference(ours, theirs)) == left - right
    assert members(intersection(ours, theirs)) == left & right


@given(path_sets, path_sets)
def test_without_takes_away_what_is_below_a_member_too(left: set[Path], right: set[Path]) -> None:
    rest = {path for path in left if not any(path[:length] in right for length in range(1, len(path) + 1))}
    assert members(without(set_of(left), set_of(right))) == rest


@given(path_sets, path_sets)
def test_equal_sets_are_equal_json(left: set[Path], right: set[Path]) -> None:
    assert union(set_of(left), set_of(right)) == union(set_of(right), set_of(left)) == set_of(left | right)
    assert difference(set_of(left), set_of(right)) == set_of(left - right)
    assert intersection(set_of(left), set_of(right)) == set_of(left & right)


@given(path_sets, path_sets)
def test_an_operation_that_changes_nothing_returns_the_set_itself(left: set[Path], right: set[Path]) -> None:
    ours = set_of(left)
    if right <= left:
        assert union(ours, set_of(right)) is ours
    if not left & right:
        assert difference(ours, set_of(right)) is ours


@given(path_sets)
def test_a_leaf_may_be_written_with_a_dot(found: set[Path]) -> None:
    def dotted(fields: FieldSet) -> FieldSet:
        return {key: dotted(node) if node else {".": {}} for key, node in fields.items() if key != "."} | {
            key: node for key, node in fields.items() if key == "."
        }

    fields = dotted(set_of(found))
    assert members(fields) == found
    assert members(difference(fields, set_of(found))) == set()
    assert members(intersection(fields, set_of(found))) == found


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("f:spec", "f:replicas"), ".spec.replicas"),
        (("f:list", 'k:{"name":"a","port":80}', "f:x"), '.list[name="a",port=80].x'),
        (("f:set", 'v:"x"'), '.set[="x"]'),
        (("f:set", "v:1"), ".set[=1]"),
        (("f:list", "i:0"), ".list[0]"),
    ],
)
def test_a_path_reads_as_in_kubernetes(path: Path, text: str) -> None:
    assert path_text(path) == text


@pytest.mark.parametrize(
    "fields",
    [
        None,
        [],
        {"f:a": 1},
        {"f:a": {"b": {}}},
        {"a": {}},
        {"k:": {}},
        {"k:{}": {}},
        {"k:[1]": {}},
        {"v:": {}},
        {"i:x": {}},
        {"f:a": {".": 1}},
    ],
)
def test_what_is_no_fields_v1_is_refused(fields: Json) -> None:
    with pytest.raises(BadRequestError):
        check(fields)


def test_an_ordered_set_is_the_same_in_the_order_of_its_keys() -> None:
    item: FieldSet = {"f:name": {}, ".": {}, "f:image": {}}
    given: FieldSet = {"f:spec": {"f:b": {}, ".": {}, "f:a": {'k:{"name":"z"}': item}}}
    found = ordered(given)
    assert found == given
    assert list(found["f:spec"]) == [".", "f:a", "f:b"]
    assert list(found["f:spec"]["f:a"]['k:{"name":"z"}']) == [".", "f:image", "f:name"]
