from __future__ import annotations

import contextlib
import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.errors import ApiError, BadRequestError, InvalidError, TooLargeError
from homeostat.objects.patch.json import json_patch, merge_patch

Json = Any

scalars = st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab", max_size=2)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
)
objects = st.dictionaries(st.sampled_from("abc"), values, max_size=3)


def pointers() -> st.SearchStrategy[str]:
    step = st.sampled_from(["a", "b", "c", "0", "1", "-", "-1", "~0", "~1"])
    return st.lists(step, min_size=1, max_size=3).map(lambda steps: "".join(f"/{each}" for each in steps))


operations = st.one_of(
    st.builds(
        lambda op, path, value: {"op": op, "path": path, "value": value},
        st.sampled_from(["add", "replace", "test"]),
        pointers(),
        values,
    ),
    st.builds(lambda path: {"op": "remove", "path": path}, pointers()),
    st.builds(
        lambda op, path, source: {"op": op, "path": path, "from": source},
        st.sampled_from(["move", "copy"]),
        pointers(),
        pointers(),
    ),
)


@pytest.mark.parametrize(
    ("document", "patch", "expected"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b", "c": 1}, {"a": None}, {"c": 1}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "b"}, None, None),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patch_follows_rfc_7386(document: Json, patch: Json, expected: Json) -> None:
    assert merge_patch(document, patch) == expected


@given(objects, values)
def test_a_merge_patch_changes_neither_document_nor_patch(document: Json, patch: Json) -> None:
    before = copy.deepcopy((document, patch))
    merge_patch(document, patch)
    assert (document, patch) == before


@given(objects, objects)
def test_a_merge_patch_is_idempotent(document: Json, patch: Json) -> None:
    once = merge_patch(document, patch)
    assert merge_patch(once, patch) == once


@given(objects)
def test_the_empty_merge_patch_changes_nothing(document: Json) -> None:
    assert merge_patch(document, {}) == document


@pytest.mark.parametrize(
    ("document", "patch", "expected"),
    [
        ({"a": 1}, [{"op": "add", "path": "/b", "value": 2}], {"a": 1, "b": 2}),
        ({"a": 1}, [{"op": "add", "path": "/a", "value": 2}], {"a": 2}),
        ({"a": [1, 2]}, [{"op": "add", "path": "/a/1", "value": 9}], {"a": [1, 9, 2]}),
        ({"a": [1]}, [{"op": "add", "path": "/a/-", "value": 9}], {"a": [1, 9]}),
        ({"a": [1]}, [{"op": "add", "path": "/a/1", "value": 9}], {"a": [1, 9]}),
        ({"a": [1, 2]}, [{"op": "remove", "path": "/a/-1"}], {"a": [1]}),
        ({"a": 1, "b": 2}, [{"op": "remove", "path": "/a"}], {"b": 2}),
        ({"a": 1}, [{"op": "replace", "path": "/a", "value": [3]}], {"a": [3]}),
        ({}, [{"op": "replace", "path": "/a", "value": 1}], {"a": 1}),
        ({"a": 1}, [{"op": "replace", "path": "", "value": {"b": 1}}], {"b": 1}),
        ({"a": {"b": 1}}, [{"op": "move", "from": "/a/b", "path": "/c"}], {"a": {}, "c": 1}),
        ({"a": [1, 2, 3]}, [{"op": "move", "from": "/a/0", "path": "/a/2"}], {"a": [2, 3, 1]}),
        ({"a": 1}, [{"op": "move", "from": "/a", "path": "/a"}], {"a": 1}),
        ({"a": {"b": 1}}, [{"op": "copy", "from": "/a", "path": "/c"}], {"a": {"b": 1}, "c": {"b": 1}}),
        ({"a": [{"b": 1}]}, [{"op": "test", "path": "/a", "value": [{"b": 1.0}]}], {"a": [{"b": 1}]}),
        ({"a": 1}, [{"op": "test", "path": "/b", "value": None}], {"a": 1}),
        ({"a": 1}, [{"op": "test", "path": "", "value": {"a": 1}}], {"a": 1}),
        ({"a/b": 1, "m~n": 2}, [{"op": "remove", "path": "/a~1b"}, {"op": "remove", "path": "/m~0n"}], {}),
        ({"~1": 1}, [{"op": "remove", "path": "/~01"}], {}),
        ({"": 1}, [{"op": "remove", "path": "/"}], {}),
        ({}, [], {}),
    ],
)
def test_json_patch_follows_rfc_6902_and_kubernetes(document: Json, patch: Json, expected: Json) -> None:
    assert json_patch(document, patch) == expected


@pytest.mark.parametrize(
    ("patch", "error"),
    [
        ({}, BadRequestError),
        ([1], BadRequestError),
        ([None], InvalidError),
        ([[]], BadRequestError),
        ([{"op": "spin", "path": "/a"}], InvalidError),
        ([{"op": ["add"], "path": "/a"}], BadRequestError),
        ([{"path": "/a"}], InvalidError),
        ([{"op": "add", "value": 1}], InvalidError),
        ([{"op": "move", "path": "/a"}], InvalidError),
        ([{"op": "remove", "path": 1}], BadRequestError),
        ([{"op": "test", "path": "/a", "value": 2}], InvalidError),
        ([{"op": "test", "path": "/a", "value": True}], InvalidError),
        ([{"op": "test", "path": "/x", "value": 1}], InvalidError),
        ([{"op": "remove", "path": "/x"}], InvalidError),
        ([{"op": "remove", "path": ""}], InvalidError),
        ([{"op": "remove", "path": "a"}], InvalidError),
        ([{"op": "add", "path": "/x/y", "value": 1}], InvalidError),
        ([{"op": "add", "path": "/a/y", "value": 1}], InvalidError),
        ([{"op": "add", "path": "/l/3", "value": 1}], InvalidError),
        ([{"op": "add", "path": "/l/01", "value": 1}], InvalidError),
        ([{"op": "add", "path": "/l/x", "value": 1}], InvalidError),
        ([{"op": "add", "path": "/l/99999999999999999999", "value": 1}], InvalidError),
        ([{"op": "remove", "path": "/l/-"}], InvalidError),
        ([{"op": "remove", "path": "/l/2"}], InvalidError),
        ([{"op": "copy", "from": "/x", "path": "/y"}], InvalidError),
        ([{"op": "move", "from": "/o", "path": "/o/p"}], InvalidError),
        ([{"op": "move", "from": "/x", "path": "/x"}], InvalidError),
        ([{"op": "test", "path": "/a", "value": 1}] * 10_001, TooLargeError),
    ],
)
def test_a_wrong_json_patch_gets_the_answer_of_kubernetes(patch: Json, error: type[ApiError]) -> None:
    document = {"a": 1, "l": [1, 2], "o": {}}
    with pytest.raises(error):
        json_patch(document, patch)
    assert document == {"a": 1, "l": [1, 2], "o": {}}


def test_what_was_moved_is_a_value_of_its_own() -> None:
    document = {"metadata": {"name": "a"}}
    moved = json_patch(document, [{"op": "move", "from": "/metadata", "path": ""}])
    moved.clear()
    assert document == {"metadata": {"name": "a"}}


GROWING = {
    "step by step": [{"op": "add", "path": "/a" * at, "value": {}} for at in range(1, 1000)],
    "by a copy into itself": [{"op": "copy", "from": "/o", "path": "/o" * at} for at in range(2, 400)],
    "by moves into each other": [
        step
        for _ in range(400)
        for step in (
            {"op": "add", "path": "/m", "value": {}},
            {"op": "move", "from": "/o", "path": "/m/o"},
            {"op": "move", "from": "/m", "path": "/o"},
        )
    ],
}


@pytest.mark.parametrize("patch", GROWING.values(), ids=GROWING)
def test_a_patch_does_not_nest_without_end(patch: Json) -> None:
    with pytest.raises(InvalidError, match=r"steps|too deeply|copies more"):
        json_patch({"o": {}}, patch)


def test_copies_of_copies_end_at_a_size() -> None:
    double = [{"op": "copy", "from": "/a", "path": "/a/-"}]
    with pytest.raises(InvalidError, match="copies more than"):
        json_patch({"a": ["x" * 1000]}, double * 40)


@given(objects, st.lists(operations, max_size=4))
def test_a_json_patch_never_changes_the_document(document: Json, patch: Json) -> None:
    before = copy.deepcopy(document)
    with contextlib.suppress(BadRequestError, InvalidError):
        json_patch(document, patch)
    assert document == before


@given(objects, pointers(), values)
def test_what_was_added_passes_a_test_until_it_is_removed(document: Json, path: str, value: Json) -> None:
    add = {"op": "add", "path": path, "value": value}
    try:
        added = json_patch(document, [add])
    except InvalidError:
        return
    if path.endswith(("/-", "/-1")):
        return
    assert json_patch(added, [{"op": "test", "path": path, "value": value}]) == added
    removed = json_patch(added, [{"op": "remove", "path": path}])
    assert json_patch(removed, [add]) == added


@given(objects, st.lists(operations, max_size=3), st.lists(operations, max_size=3))
def test_two_patches_are_one_after_the_other(document: Json, first: Json, second: Json) -> None:
    try:
        whole = json_patch(document, [*first, *second])
    except InvalidError:
        return
    assert json_patch(json_patch(document, first), second) == whole


@pytest.mark.slow
def test_a_patch_does_not_shift_long_lists_again_and_again() -> None:
    document = {"a": [0] * 100_000}
    with pytest.raises(InvalidError, match="too many items at the start of long lists"):
        json_patch(document, [{"op": "add", "path": "/a/0", "value": 1}] * 9000)
    with pytest.raises(InvalidError, match="too many items at the start of long lists"):
        json_patch(document, [{"op": "remove", "path": "/a/0"}] * 9000)
    appended = json_patch(document, [{"op": "add", "path": "/a/-", "value": 1}] * 9000)
    assert len(appended["a"]) == 109_000
