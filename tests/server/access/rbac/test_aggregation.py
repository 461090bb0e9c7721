from __future__ import annotations

from homeostat.objects.access.rule import Rule, rule_of
from homeostat.objects.json import JsonObject
from homeostat.server.access.rbac.aggregation import Aggregation, Gathering
from homeostat.server.access.rbac.authorizer import Rbac, RoleRef
from tests.server.access.rbac.objects import binding, may, put, role, rule, user


def labelled(name: str, label: str, *rules: JsonObject) -> JsonObject:
    return role(name, *rules, metadata={"labels": {label: "true"}})


def gathering(name: str, label: str, *, labelled_as: str = "", rules: tuple[JsonObject, ...] = ()) -> JsonObject:
    metadata = {"labels": {labelled_as: "true"}} if labelled_as else {}
    selector = {"clusterRoleSelectors": [{"matchLabels": {label: "true"}}]}
    return role(name, *rules, metadata=metadata, aggregationRule=selector)


def rules_of(rbac: Rbac, name: str) -> tuple[Rule, ...] | None:
    return rbac.rules_of(RoleRef("ClusterRole", name), "")


def rules(*objects: JsonObject) -> tuple[Rule, ...]:
    return tuple(rule_of(each) for each in objects)


A, B = rule("get", "pods"), rule("get", "secrets")


def test_an_aggregated_role_has_the_rules_of_the_roles_it_selects_each_once() -> None:
    rbac = Rbac()
    put(rbac, "ClusterRole", gathering("all", "x"))
    put(rbac, "ClusterRole", labelled("two", "x", B, A))
    put(rbac, "ClusterRole", labelled("one", "x", A))
    put(rbac, "ClusterRole", labelled("other", "y", rule("*", "*")))
    assert rules_of(rbac, "all") == rules(A, B)


def test_rules_written_in_an_aggregated_role_do_not_count() -> None:
    rbac = Rbac()
    put(rbac, "ClusterRole", gathering("all", "x", rules=(rule("*", "*"),)))
    assert rules_of(rbac, "all") == ()


def test_aggregated_roles_gather_from_one_another() -> None:
    rbac = Rbac()
    put(rbac, "ClusterRole", gathering("admin", "to-admin"))
    put(rbac, "ClusterRole", gathering("edit", "to-edit", labelled_as="to-admin"))
    put(rbac, "ClusterRole", labelled("own", "to-edit", A))
    assert rules_of(rbac, "admin") == rules(A)


def test_a_circle_of_aggregated_roles_has_an_end() -> None:
    rbac = Rbac()
    put(rbac, "ClusterRole", gathering("one", "to-one", labelled_as="to-two"))
    put(rbac, "ClusterRole", gathering("two", "to-two", labelled_as="to-one"))
    put(rbac, "ClusterRole", labelled("own", "to-one", A))
    assert rules_of(rbac, "one") == rules_of(rbac, "two") == rules(A)


def test_a_long_chain_of_aggregated_roles_is_followed_to_its_end() -> None:
    rbac = Rbac()
    for number in range(300):
        put(rbac, "ClusterRole", gathering(f"r{number}", f"to-{number}", labelled_as=f"to-{number - 1}"))
    put(rbac, "ClusterRole", labelled("own", "to-299", A))
    assert rules_of(rbac, "r0") == rules(A)


def test_a_role_that_begins_or_ceases_to_be_selected_is_seen_at_once() -> None:
    rbac = Rbac()
    put(rbac, "ClusterRole", gathering("all", "x"))
    put(rbac, "ClusterRoleBinding", binding("all", "ClusterRole:all", "User:alice"))
    assert not may(rbac, user("alice"), "get", "pods")
    put(rbac, "ClusterRole", labelled("one", "x", A))
    assert may(rbac, user("alice"), "get", "pods")
    rbac.remove("ClusterRole", "", "one")
    assert not may(rbac, user("alice"), "get", "pods")


def test_a_role_that_gathers_nothing_is_computed_once() -> None:
    aggregation = Aggregation()
    aggregation.put("all", gathering("all", "x"))
    found = aggregation.rules_of("all")
    assert isinstance(found, Gathering)
    aggregation.keep(found, found.rules())
    assert aggregation.rules_of("all") == ()


def gathered_by(selector: JsonObject) -> tuple[Rule, ...] | None:
    rbac = Rbac()
    put(rbac, "ClusterRole", role("all", aggregationRule={"clusterRoleSelectors": [selector]}))
    put(rbac, "ClusterRole", labelled("one", "x", A))
    return rules_of(rbac, "all")


def test_an_empty_selector_gathers_from_every_role() -> None:
    assert gathered_by({}) == rules(A)


def test_a_selector_may_have_expressions() -> None:
    assert gathered_by({"matchExpressions": [{"key": "x", "operator": "Exists"}]}) == rules(A)


def test_a_selector_that_makes_no_sense_gathers_nothing() -> None:
    assert gathered_by({"matchExpressions": [{"key": "x", "operator": "Frob"}]}) == ()
