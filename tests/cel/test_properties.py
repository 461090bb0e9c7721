"""Whatever is thrown at the language, the answer is a value or one of its own errors."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from homeostat.cel import DYN, INT, STRING, CelError, CompileError, Environment, ListType
from homeostat.cel import values as cel_values
from homeostat.cel.values import Uint
from tests.cel.expressions import expressions
from tests.cel.oracle import oracle_outcome, our_outcome

ENVIRONMENT = Environment({"x": DYN, "i": INT, "s": STRING, "l": ListType(INT)}, homogeneous_literals=False)


def equal(left: Any, right: Any) -> bool:
    return cel_values.equal(left, right, [1_000_000])


PIECES = [
    *("x", "i", "s", "l", "1", "0", "-1", "2u", "1.5", "'a'", "b'a'", "true", "false", "null", "'a+'", "'1h'", "v,"),
    *("+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "in", "&&", "||", "!", "?", ":", "//", "\\", '"'),
    *(".", ".?", "[", "]", "[?", "(", ")", "{", "}", "{?", ",", ".all(", ".map(", ".exists(", ".filter(", "has("),
    *("size(", ".matches(", "int(", "string(", "duration(", "timestamp(", "optional.of(", ".orValue(", ".value("),
    *(
        "cel.bind(",
        "type(",
        "dyn(",
        ".find(",
        ".join(",
        ".split(",
        "quantity(",
        "ip(",
        "math.greatest(",
        "sets.contains(",
    ),
]
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-3, 3) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=6,
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.integers(0, 2).map(Uint) | st.sampled_from([0.0, 1.0, 1.5]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=4,
)


def run(text: str, x: Any) -> None:
    with suppress(CelError):
        ENVIRONMENT.compile(text).evaluate({"x": x, "i": 1, "s": "a", "l": [1]}, limit=100_000)


@given(st.text(max_size=60))
def test_any_text_gives_a_value_or_an_error_of_the_language(text: str) -> None:
    run(text, None)


@given(st.lists(st.sampled_from(PIECES), max_size=15).map(" ".join), JSON)
def test_any_pieces_give_a_value_or_an_error_of_the_language(text: str, x: Any) -> None:
    run(text, x)


@given(st.sampled_from(expressions()), JSON)
def test_any_values_give_a_value_or_an_error_of_the_language(text: str, x: Any) -> None:
    run(text, x)


@given(st.text(max_size=30).filter(lambda text: not any("\ud800" <= each <= "\udfff" for each in text)))
def test_a_string_comes_back_from_its_literal(text: str) -> None:
    literal = "".join(f"\\U{ord(each):08x}" for each in text)
    assert ENVIRONMENT.compile(f"'{literal}'").evaluate({}) == text


@given(VALUES, VALUES)
def test_equality_is_symmetric(left: Any, right: Any) -> None:
    assert equal(left, right) is equal(right, left)


@given(VALUES)
def test_a_value_equals_itself(value: Any) -> None:
    assert equal(value, value) is True


@given(VALUES, VALUES, VALUES)
def test_equality_is_transitive(one: Any, two: Any, three: Any) -> None:
    if equal(one, two) and equal(two, three):
        assert equal(one, three)


def test_nan_equals_nothing() -> None:
    assert not equal(math.nan, math.nan)
    values = [math.nan]
    assert not equal(values, values)


@given(
    st.sampled_from(["+", "-", "*", "/", "%", "<", "==", ">="]),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3),
)
def test_arithmetic_of_ints_agrees_with_the_oracle(operator: str, left: int, right: int) -> None:
    text = f"({left}) {operator} ({right})"
    assert our_outcome(text) == oracle_outcome(text)


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_arithmetic_of_doubles_agrees_with_the_oracle(left: float, right: float) -> None:
    for operator in ("+", "*", "/", "<"):
        text = f"double('{left!r}') {operator} double('{right!r}')"
        assert our_outcome(text) == oracle_outcome(text)


def test_a_deep_value_does_not_exhaust_the_stack() -> None:
    deep: Any = None
    for _ in range(100_000):
        deep = [deep]
    run("x == x", deep)
    while deep:
        deep = deep.pop()


def test_compiling_never_evaluates() -> None:
    try:
        ENVIRONMENT.compile("1 / 0 == 1")
    except CompileError as error:
        raise AssertionError from error
