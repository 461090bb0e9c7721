"""The order of resources: by path, and by what payloads refer to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.json import Json
from homeostat.operators.sync.run.order import Node, levels, needed, singular


def needs(path: str, value: Json, *others: str) -> frozenset[str]:
    nodes = [Node(path, frozenset(), value), *(Node(each, frozenset({f"id-{each[-1]}"}), {}) for each in others)]
    return needed(nodes)[path]


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"customer": "a"}, True),
        ({"customerId": "id-a"}, True),
        ({"customer_name": "a"}, True),
        ({"spec": {"customers": ["b", "a"]}}, True),
        ({"any": "/customers/a"}, True),
        ({"any": "a"}, False),
        ({"customer": "other"}, False),
        ({"customer": {"a": "b"}}, False),
        ({"any": "/customers"}, False),
        ("a", False),
        (None, False),
    ],
    ids=str,
)
def test_a_payload_refers_to_another_by_path_or_in_a_field_of_its_collection(value: Json, found: bool) -> None:
    assert needs("/orders/1", value, "/customers/a") == ({"/customers/a"} if found else set())


def test_of_several_with_one_name_the_nearest_is_meant() -> None:
    others = ("/realms/m/roles/x", "/realms/n/roles/x", "/realms/n")
    assert needs("/realms/n/users/u", {"role": "x"}, *others) == {"/realms/n", "/realms/n/roles/x"}


def test_a_resource_needs_what_is_above_it_and_never_what_is_below() -> None:
    assert needs("/t/a/u/x", {}, "/t/a") == {"/t/a"}
    assert needs("/t/a", {"u": "x", "path": "/t/a/u/x"}, "/t/a/u/x") == set()


def test_a_circle_does_not_hold_up_what_it_needs() -> None:
    found = levels({"/a": {"/b"}, "/b": {"/a", "/c"}, "/c": set(), "/b/x/y": {"/b"}})
    assert found[0] == ["/c"]
    assert sorted(found[1]) == ["/a", "/b"]
    assert found[2] == ["/b/x/y"]


@given(st.dictionaries(st.integers(0, 12), st.sets(st.integers(0, 12), max_size=4), max_size=13))
def test_every_resource_is_in_one_level_and_after_what_it_needs_unless_in_a_circle(graph: dict[int, set[int]]) -> None:
    paths = {f"/p/{each}": {f"/p/{other}" for other in needs if other in graph} for each, needs in graph.items()}
    acyclic = {path: {each for each in needs if each < path} for path, needs in paths.items()}
    for given_needs in (paths, acyclic):
        flat = [path for level in levels(given_needs) for path in level]
        assert sorted(flat) == sorted(given_needs)
    place = {path: number for number, level in enumerate(levels(acyclic)) for path in level}
    assert all(place[each] < place[path] for path, each_needs in acyclic.items() for each in each_needs)


@pytest.mark.parametrize(
    ("word", "expected"),
    [("customers", "customer"), ("policies", "policy"), ("user-registry", "registry"), ("class", "class"), ("", "")],
)
def test_a_collection_has_a_singular(word: str, expected: str) -> None:
    assert singular(word) == expected
