from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.access.rule import FULL_AUTHORITY, Rule, allows, describe, rule_object, rule_of
from homeostat.server.access.attributes import Attributes
from homeostat.server.access.rbac.permissions import MOST_LACKING, missing
from tests.server.access.rbac.objects import rule, user

ALICE = user("alice")

ON_OBJECTS = {
    "the same": (rule("get", "pods"), "get", "", "pods", "", True),
    "another verb": (rule("get", "pods"), "list", "", "pods", "", False),
    "any verb": (rule("*", "pods"), "frobnicate", "", "pods", "", True),
    "another group": (rule("get", "pods"), "get", "apps", "pods", "", False),
    "any group": (rule("get", "pods", groups="*"), "get", "apps", "pods", "", True),
    "several groups": (rule("get", "events", groups="core events.k8s.io"), "get", "events.k8s.io", "events", "", True),
    "any resource": (rule("get", "*"), "get", "", "secrets", "", True),
    "any resource and its subresources": (rule("get", "*"), "get", "", "pods/status", "", True),
    "a resource without its subresources": (rule("get", "pods"), "get", "", "pods/status", "", False),
    "a subresource": (rule("get", "pods/status"), "get", "", "pods/status", "", True),
    "a subresource without its resource": (rule("get", "pods/status"), "get", "", "pods", "", False),
    "a subresource of any resource": (rule("get", "*/scale"), "get", "", "deployments/scale", "", True),
    "another subresource of any resource": (rule("get", "*/scale"), "get", "", "deployments/status", "", False),
    "a subresource of any resource is no resource": (rule("get", "*/scale"), "get", "", "scale", "", False),
    "pods/* is not a wildcard": (rule("get", "pods/*"), "get", "", "pods/log", "", False),
    "a name": (rule("get", "pods", names="web"), "get", "", "pods", "web", True),
    "another name": (rule("get", "pods", names="web db"), "get", "", "pods", "cache", False),
    "one of the names": (rule("get", "pods", names="web db"), "get", "", "pods", "db", True),
    "names do not allow a list of all": (rule("list", "pods", names="web"), "list", "", "pods", "", False),
    "no name restricts nothing": (rule("get", "pods"), "get", "", "pods", "web", True),
    "URLs are no resources": (rule("get", urls="*"), "get", "", "pods", "", False),
    "nothing": ({}, "get", "", "pods", "", False),
}


@pytest.mark.parametrize(
    ("given_rule", "verb", "group", "resource", "name", "expected"), ON_OBJECTS.values(), ids=ON_OBJECTS
)
def test_a_rule_allows_what_it_names(
    given_rule: dict[str, object], verb: str, group: str, resource: str, name: str, expected: bool
) -> None:
    resource, _, subresource = resource.partition("/")
    attributes = Attributes(ALICE, verb, group=group, resource=resource, subresource=subresource, name=name)
    assert allows(rule_of(given_rule), attributes) is expected


ON_URLS = {
    "the same": ("/metrics", "/metrics", True),
    "another": ("/metrics", "/healthz", False),
    "all": ("*", "/anything/at/all", True),
    "below": ("/healthz/*", "/healthz/ping", True),
    "below is not itself": ("/healthz/*", "/healthz", False),
    "a prefix": ("/health*", "/healthz", True),
    "a star inside is a star": ("/a/*/b", "/a/x/b", False),
}


@pytest.mark.parametrize(("held", "path", "expected"), ON_URLS.values(), ids=ON_URLS)
def test_a_rule_allows_urls_by_their_beginning(held: str, path: str, expected: bool) -> None:
    assert allows(rule_of(rule("get", urls=held)), Attributes(ALICE, "get", path=path)) is expected


def test_a_rule_about_resources_allows_no_url() -> None:
    assert not allows(rule_of(rule("*", "*", groups="*")), Attributes(ALICE, "get", path="/metrics"))


MISSING = {
    "held as it is": ([rule("get", "pods")], [rule("get", "pods")], []),
    "held in parts": ([rule("get", "pods"), rule("list", "pods")], [rule("get list", "pods")], []),
    "verbs of one thing are told together": (
        [rule("get", "pods")],
        [rule("get list watch", "pods")],
        [rule("list watch", "pods")],
    ),
    "held by wildcards": ([rule("*", "*", groups="*")], [rule("delete", "deployments/scale", groups="apps")], []),
    "a wildcard is not held in parts": ([rule("get list", "pods")], [rule("*", "pods")], [rule("*", "pods")]),
    "*/scale holds a subresource": ([rule("get", "*/scale")], [rule("get", "jobs/scale")], []),
    "all names are more than some": ([rule("get", "pods", names="a")], [rule("get", "pods")], [rule("get", "pods")]),
    "some names are held by all": ([rule("get", "pods")], [rule("get", "pods", names="a")], []),
    "names one by one": (
        [rule("get", "pods", names="a")],
        [rule("get", "pods", names="a b")],
        [rule("get", "pods", names="b")],
    ),
    "URLs by prefix": ([rule("get", urls="/api/*")], [rule("get", urls="/api/v1 /x")], [rule("get", urls="/x")]),
}


@pytest.mark.parametrize(("held", "wanted", "lacking"), MISSING.values(), ids=MISSING)
def test_missing_is_what_no_held_rule_covers(
    held: list[dict[str, object]], wanted: list[dict[str, object]], lacking: list[dict[str, object]]
) -> None:
    found = missing([rule_of(each) for each in held], [rule_of(each) for each in wanted])
    assert found == [rule_of(each) for each in lacking]


def _texts(*values: str) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(values), max_size=3, unique=True).map(tuple)


RULES = st.builds(
    Rule,
    _texts("get", "list", "*"),
    _texts("", "apps", "*"),
    _texts("pods", "pods/log", "*/log", "*"),
    _texts("a", "b"),
    _texts("/x", "/x/*", "*"),
)


@given(st.lists(RULES, max_size=3), st.lists(RULES, max_size=3))
def test_whoever_misses_nothing_may_do_all_that_is_wanted(held: list[Rule], wanted: list[Rule]) -> None:
    if missing(held, wanted):
        return
    for verb in ("get", "list", "watch"):
        for group in ("", "apps", "batch"):
            for subresource in ("", "log"):
                for name in ("", "a", "b", "c"):
                    asked = Attributes(ALICE, verb, group=group, resource="pods", subresource=subresource, name=name)
                    if any(allows(each, asked) for each in wanted):
                        assert any(allows(each, asked) for each in held)


@given(st.lists(RULES, max_size=3))
def test_everybody_holds_what_they_hold_and_full_authority_holds_all(rules: list[Rule]) -> None:
    assert missing(rules, rules) == []
    assert missing(FULL_AUTHORITY, rules) == []


MANY = tuple(f"v{at}" for at in range(3_000))


def test_a_rule_with_very_many_parts_is_weighed_without_visiting_each() -> None:
    huge = Rule(MANY, MANY, MANY)
    halves = [Rule(MANY[:1_500], MANY, MANY), Rule(MANY[1_500:], ("*",), ("*",))]
    assert missing(halves, [huge]) == []
    assert sum(len(rule.verbs) for rule in missing([], [huge])) == MOST_LACKING
    assert missing(halves, [Rule(("v1", "get", "v2"), ("v0",), ("v0",))]) == [Rule(("get",), ("v0",), ("v0",))]


def test_rules_made_to_have_very_many_classes_are_held_by_nobody() -> None:
    held = [Rule((one,), (one,), (one,)) for one in MANY[:200]]
    assert missing(held, [Rule(MANY[:200], MANY[:200], MANY[:200])]) == [Rule(("v0",), ("v0",), ("v0",))]


@given(RULES)
def test_a_rule_survives_the_way_through_its_object(held: Rule) -> None:
    assert rule_of(rule_object(held)) == held


def test_a_rule_is_described_as_kubernetes_does() -> None:
    assert describe(rule_of(rule("get list", "pods/log pods", names="a"))) == (
        '{APIGroups:[""], Resources:["pods/log" "pods"], ResourceNames:["a"], Verbs:["get" "list"]}'
    )
    assert describe(rule_of(rule("get", urls="/metrics"))) == '{NonResourceURLs:["/metrics"], Verbs:["get"]}'
