"""An evaluation cannot cost more than its budget, and what a rule could cost is known before it is accepted."""

from __future__ import annotations

from typing import Any

import pytest

from homeostat.cel import (
    DYN,
    INT,
    STRING,
    Budget,
    CostLimitError,
    Environment,
    ListType,
    MapType,
    ObjectType,
    size_limit,
)

ENVIRONMENT = Environment({"l": ListType(INT), "s": STRING, "x": DYN, "names": ListType(STRING)})
LONG = list(range(2000))

EXPENSIVE: list[tuple[str, dict[str, Any]]] = [
    ("l.all(a, l.all(b, a + b >= 0))", {"l": LONG}),
    ("l.map(a, l.map(b, a * b)).size() > 0", {"l": LONG}),
    ("l.filter(a, l.exists(b, b == -1)).size() > 0", {"l": LONG}),
    ("l.all(i, a, l.all(j, b, a + b >= 0))", {"l": LONG}),
    ("l.all(a, l == l)", {"l": list(range(50_000))}),
    ("l.all(a, l.indexOf(-1) == -1)", {"l": LONG}),
    ("l.all(a, !(-1 in l))", {"l": LONG}),
    ("l.all(a, sets.contains(l, l))", {"l": LONG}),
    ("l.all(a, (l + l).size() > 0)", {"l": list(range(50_000))}),
    ("x.all(a, x.all(b, a == b || true))", {"x": LONG}),
    ("l.all(a, s.matches('^(a+)+b$') || true)", {"l": LONG, "s": "a" * 10_000}),
    ("s.findAll('a|b|c|d|e|f|g').size() > 0", {"s": "a" * 1_000_000}),
    ("s.findAll('a').size() > 0", {"s": "a" * 100_000}),
    ("s.find('b') == 'b'", {"s": "a" * 100_000 + "b"}),
    ("l.all(a, s.replace('a', s).size() > 0)", {"l": LONG, "s": "a" * 5_000}),
    ("s.replace('', s).replace('', s).size() > 0", {"s": "a" * 5_000}),
    ("l.all(a, s.contains(s + 'b') || true)", {"l": LONG, "s": "a" * 10_000}),
    ("l.all(a, names.join(s).size() > 0)", {"l": LONG, "s": "a" * 1_000, "names": ["b"] * 100}),
    ("l.all(a, (s + s).size() > 0)", {"l": LONG, "s": "a" * 100_000}),
    ("lists.range(1000000).size() > 0", {}),
    ("[1,2,3,4,5,6,7,8,9].map(a, " * 8 + "1" + ")" * 8 + ".size() > 0", {}),
]


@pytest.mark.parametrize(("text", "bindings"), EXPENSIVE)
def test_an_expensive_evaluation_is_stopped(text: str, bindings: dict[str, Any]) -> None:
    program = ENVIRONMENT.compile(text)
    with pytest.raises(CostLimitError):
        program.evaluate(bindings)


def test_nothing_inside_an_expression_absorbs_the_limit() -> None:
    with pytest.raises(CostLimitError):
        ENVIRONMENT.compile("l.all(a, l.all(b, true)) || true").evaluate({"l": LONG})


def test_the_limit_of_an_evaluation_is_the_callers_to_lower() -> None:
    with pytest.raises(CostLimitError):
        ENVIRONMENT.compile("l.all(a, true)").evaluate({"l": []}, limit=1)


def test_a_budget_is_shared_by_evaluations() -> None:
    program = ENVIRONMENT.compile("l.all(a, a >= 0)")
    budget = Budget(25_000)
    program.evaluate({"l": LONG}, budget)
    left = budget.remaining
    assert left < 25_000
    program.evaluate({"l": LONG}, budget)
    assert budget.remaining == 25_000 - 2 * (25_000 - left)
    with pytest.raises(CostLimitError):
        program.evaluate({"l": LONG}, budget)


def test_a_pattern_that_is_no_literal_is_paid_for_once_in_an_evaluation() -> None:
    program = ENVIRONMENT.compile("names.all(n, n.matches(s))")
    names = [f"name-{number}" for number in range(3000)]
    for _ in range(2):
        budget = Budget(100_000)
        assert program.evaluate({"names": names, "s": "^[a-z]+-[0-9]+$"}, budget)
        assert 10_000 < budget.remaining < 98_000, "each evaluation pays for its own patterns"
    with pytest.raises(CostLimitError):
        ENVIRONMENT.compile("names.all(n, n.matches(n))").evaluate({"names": names})


def test_a_loop_that_ends_early_costs_only_what_it_did() -> None:
    program = ENVIRONMENT.compile("l.exists(a, a == 1)")
    budget = Budget()
    program.evaluate({"l": LONG}, budget)
    assert 10_000_000 - budget.remaining < 50


def estimated(text: str, **variables: Any) -> int:
    return Environment(variables).compile(text).estimated_cost


def test_the_estimate_grows_with_the_sizes_of_the_schema() -> None:
    small = ListType(STRING.limited(10), max_size=10)
    large = ListType(STRING.limited(10), max_size=1000)
    rule = "self.all(a, self.exists(b, a == b))"
    assert estimated(rule, self=small) * 5_000 < estimated(rule, self=large)


def test_a_nested_loop_over_lists_without_a_limit_is_beyond_the_limit_of_a_rule() -> None:
    assert estimated("self.all(a, self.all(b, a != b))", self=ListType(STRING)) > 10_000_000
    assert estimated("self.size() < 10", self=ListType(STRING)) < 10
    limited = ListType(STRING.limited(63), max_size=100)
    assert estimated("self.all(a, self.all(b, a != b))", self=limited) < 10_000_000


def test_a_string_without_a_limit_makes_matching_dear() -> None:
    pattern = "^[a-z]([-a-z0-9]*[a-z0-9])?$"
    assert estimated(f"self.matches('{pattern}')", self=STRING.limited(63)) < 100
    assert estimated(f"self.matches('{pattern}')", self=STRING) > 1_000_000


@pytest.mark.parametrize(
    "text",
    [
        "l.map(a, a + 1).filter(b, b > 1).all(c, c < 10)",
        "names.join(',').split(',').size() > 0",
        "names.all(n, n.find('[a-z]+') == n)",
        "cel.bind(y, names, y.all(n, y.indexOf(n) >= 0))",
        "s.replace('a', 'bb').upperAscii().contains('B')",
        "names.distinct().size() == names.size() ? l.sum() > 1 : l.max() > 1",
        "[l, l].flatten().size() > 0",
        "l[?0].orValue(1) > 0 && {'a': l}.a.all(v, v > 0)",
        "lists.range(3).all(v, v < 3)",
    ],
)
def test_an_estimate_is_never_below_what_an_evaluation_costs(text: str) -> None:
    types = {"l": ListType(INT, max_size=50), "s": STRING.limited(100), "names": ListType(STRING, max_size=20)}
    values = {"l": list(range(50)), "s": "a" * 100, "names": [f"name{index}" for index in range(20)]}
    program = Environment(types).compile(text)
    budget = Budget()
    program.evaluate(values, budget)
    assert 10_000_000 - budget.remaining <= program.estimated_cost


def test_the_size_limit_of_a_type_is_what_fits_a_request_where_none_is_set() -> None:
    assert size_limit(STRING.limited(5)) == 5
    assert size_limit(STRING) == 3 * 1024 * 1024 - 2
    assert size_limit(ListType(INT, max_size=7)) == 7
    assert size_limit(ListType(INT)) > size_limit(ListType(ObjectType("O", {"name": STRING}, frozenset({"name"}))))
    assert size_limit(MapType(STRING, STRING)) < size_limit(ListType(STRING))
