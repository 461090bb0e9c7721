from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.json import Json
from homeostat.operators.sync.engine.compare.difference import differences, is_equal, masked
from homeostat.operators.sync.engine.payload.pointer import MISSING

_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=2), each, max_size=3),
)


@given(_values)
def test_a_value_equals_itself_in_both_modes(value: Json) -> None:
    assert differences("/r", value, value) == []
    assert differences("/r", value, value, "exact") == []


@given(_values, _values)
def test_values_are_equal_if_nothing_differs(a: Json, b: Json) -> None:
    assert is_equal(a, b) is (differences("/r", a, b) == [])
    assert is_equal(a, b, "exact") is (differences("/r", a, b, "exact") == [])


def test_only_declared_fields_count_by_default() -> None:
    local, remote = {"a": 1, "n": None}, {"a": 1.0, "server": {"rev": 7}}
    assert differences("/r", local, remote) == []
    assert [(each.path, each.operation) for each in differences("/r", local, remote, "exact")] == [
        ("/n", "remove"),
        ("/server", "add"),
    ]


def test_a_boolean_is_no_number() -> None:
    assert not is_equal({"a": True}, {"a": 1})


def test_a_missing_object_is_one_replacement() -> None:
    (found,) = differences("/r", {"a": 1}, MISSING)
    assert found.entry == {"ResourcePath": "/r", "Path": "", "Operation": "replace", "Local": {"a": 1}, "Remote": None}


def test_pointers_are_escaped() -> None:
    assert [each.path for each in differences("/r", {"a/b": 1, "~n": 2}, {"a/b": 2, "~n": 3})] == ["/a~1b", "/~0n"]


def test_secrets_are_masked_on_both_sides_and_inside_of_wholes() -> None:
    found = masked(
        differences("/r", {"auth": {"key": "s1"}, "p": "x1"}, {"auth": {"key": "s2"}, "p": "x2"}), ["/auth", "/p"]
    )
    assert "s1" not in str(found)
    assert "x2" not in str(found)
    (whole,) = masked(differences("/r", {"auth": {"key": "s1"}}, MISSING), ["/auth/key"])
    assert whole.local == {"auth": {"key": "***"}}
