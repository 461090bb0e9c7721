from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from homeostat.runtime.cache.index import Index, by_label
from tests.runtime.projections import pod

MOVES = st.lists(st.tuples(st.integers(0, 20), st.sets(st.sampled_from("abc"))), max_size=120)


@given(MOVES)
def test_an_index_agrees_with_reading_everything(moves: list[tuple[int, set[str]]]) -> None:
    index: Index[set[str]] = Index(lambda keys: keys)
    held: dict[int, set[str]] = {}
    for number, keys in moves:
        index.move(("shop", str(number)), held.get(number), keys or None)
        held[number] = keys
        for key in "abc":
            names = list(index.names(key))
            assert sorted(names) == sorted(("shop", str(each)) for each, keys in held.items() if key in keys)
    assert len(index) == len(set().union(*held.values()))


def test_names_come_in_the_order_in_which_they_joined() -> None:
    index: Index[str] = Index(lambda key: (key,))
    for number in range(20):
        index.move(("shop", str(number)), None, "a")
        index.move(("shop", str(number)), "a", "a")
    assert list(index.names("a")) == [("shop", str(number)) for number in range(20)]
    for number in range(18):
        index.move(("shop", str(number)), "a", None)
    assert list(index.names("a")) == [("shop", "18"), ("shop", "19")]


def test_a_key_named_twice_counts_once() -> None:
    index: Index[str] = Index(lambda key: (key, key))
    index.move(("shop", "web"), None, "a")
    assert list(index.names("a")) == [("shop", "web")]
    index.move(("shop", "web"), "a", None)
    assert (list(index.names("a")), len(index)) == ([], 0)


def test_a_label_is_a_key_where_it_is_set() -> None:
    keys_of = by_label("app")
    assert list(keys_of(pod("web", app="shop"))) == ["shop"]
    assert list(keys_of(pod("web"))) == []


def test_a_change_of_many_keys_compares_each_with_few() -> None:
    compared = 0

    class Key(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

    index: Index[str] = Index(lambda last: [*(Key(number) for number in range(500)), Key(last)])
    index.move(("shop", "web"), None, "old")
    index.move(("shop", "web"), "old", "new")
    assert (list(index.names(Key("old"))), list(index.names(Key("new")))) == ([], [("shop", "web")])
    assert compared < 10_000
