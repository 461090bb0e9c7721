"""Which permissions somebody lacks: the same as by comparing all rules with all, without doing so."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.access.rule import Rule, size_of, url_covers
from homeostat.server.access.rbac import permissions
from homeostat.server.access.rbac.permissions import missing
from tests.examples import examples

_VERBS, _GROUPS, _RESOURCES = ("get", "list", "*"), ("", "apps", "*"), ("pods", "pods/log", "*/log", "pods/*", "*")


def _values(values: tuple[str, ...], least: int = 1) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(values), min_size=least, max_size=3, unique=True).map(tuple)


RULES = st.one_of(
    st.builds(Rule, _values(_VERBS), _values(_GROUPS), _values(_RESOURCES), _values(("a", "b"), 0)),
    st.builds(lambda verbs, urls: Rule(verbs, urls=urls), _values(_VERBS), _values(("/x", "/x*", "/y"))),
)


def _covers(granted: Rule, wanted: Rule) -> bool:
    """One verb on one resource or URL."""
    if not {"*", *wanted.verbs} & {*granted.verbs}:
        return False
    if wanted.urls:
        return any(url_covers(each, wanted.urls[0]) for each in granted.urls)
    (resource,) = wanted.resources
    own = {"*", resource, f"*/{resource.partition('/')[2]}" if "/" in resource else ""}
    is_named = not granted.names or bool({*wanted.names} & {*granted.names})
    return bool({"*", *wanted.groups} & {*granted.groups} and own & {*granted.resources}) and is_named


def _single(rule: Rule) -> set[Rule]:
    found = {Rule((verb,), urls=(url,)) for verb, url in product(rule.verbs, rule.urls)}
    names: list[tuple[str, ...]] = [(each,) for each in rule.names] or [()]
    for verb, group, resource, name in product(rule.verbs, rule.groups, rule.resources, names):
        found.add(Rule((verb,), (group,), (resource,), name))
    return found


@given(st.lists(RULES, max_size=4), st.lists(RULES, max_size=3))
@examples(200)
def test_what_is_missing_is_what_no_rule_covers(granted: list[Rule], wanted: list[Rule]) -> None:
    lacking = {each for rule in missing(granted, wanted) for each in _single(rule)}
    all_wanted = {each for rule in wanted for each in _single(rule)}
    assert lacking == {each for each in all_wanted if not any(_covers(rule, each) for rule in granted)}


NARROW = {
    "names": [Rule(("get",), ("",), ("pods",), (f"n{at}",)) for at in range(2000)],
    "resources": [Rule((f"v{at}",), ("",), (f"r{at}",)) for at in range(2000)],
    "many names in one rule": [Rule(("get",), ("",), ("pods",), tuple(f"n{at}" for at in range(2000)))],
}


@pytest.mark.parametrize("granted", NARROW.values(), ids=NARROW)
def test_a_rule_is_compared_with_those_that_share_a_value(granted: list[Rule], monkeypatch: pytest.MonkeyPatch) -> None:
    """All rules with all would be four million comparisons, and masks of four million bits."""
    wanted = NARROW["names" if len(granted) == 1 else "resources" if granted[0].names == () else "names"]
    monkeypatch.setattr(permissions, "MOST_COMPARED", 2 * size_of(wanted))
    assert missing(granted, wanted) == []


def test_rules_that_no_comparison_is_left_for_count_as_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = [Rule(("get",), ("",), ("pods",), ("a", f"n{at}")) for at in range(50)]
    assert missing(rules, rules) == []
    monkeypatch.setattr(permissions, "MOST_COMPARED", 100)
    assert missing(rules, rules), "only an attack has so many that all share a value"
