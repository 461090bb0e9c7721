"""Who may do something: by roles of the cluster and of a namespace, limited to names, and by groups of everybody."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from homeostat.objects.access.who_can import BindingObject, RoleObject, Wanted, WhoCan
from homeostat.objects.json import JsonObject
from homeostat.objects.roles import rule

ANNA: JsonObject = {"kind": "User", "name": "anna"}
BOT: JsonObject = {"kind": "ServiceAccount", "name": "bot"}
PODS = Wanted("get", resource="pods", is_namespaced=True)


def found(wanted: Wanted, roles: list[JsonObject], bindings: list[JsonObject]) -> list[tuple[str, str, str, str]]:
    """Subject, namespace, binding and names."""
    who = WhoCan(wanted)
    who.add_roles(msgspec.convert(roles, list[RoleObject]))
    who.add_bindings(msgspec.convert(bindings, list[BindingObject]))
    return [(each.subject.title, each.namespace, each.binding, ",".join(each.names)) for each in who.grants]


def role(name: str, *rules: JsonObject, namespace: str = "") -> JsonObject:
    return {"metadata": {"name": name, "namespace": namespace}, "rules": list(rules)}


def bind(name: str, ref: str, *subjects: JsonObject, namespace: str = "") -> JsonObject:
    kind, _, role_name = ref.partition("/")
    metadata = {"name": name, "namespace": namespace}
    return {"metadata": metadata, "roleRef": {"kind": kind, "name": role_name}, "subjects": list(subjects)}


def test_subjects_are_found_by_bindings_to_roles_that_allow_it() -> None:
    roles = [
        role("reader", rule("", ["pods"], ["get", "list"])),
        role("writer", rule("", ["pods"], ["update"]), rule("apps", ["pods"], ["get"])),
        role("reader", rule("", ["pods/log"], ["get"]), namespace="shop"),
        role("one", rule("", ["*"], ["*"]) | {"resourceNames": ["web"]}, namespace="shop"),
    ]
    bindings = [
        bind("all", "ClusterRole/reader", ANNA, BOT),
        bind("other", "ClusterRole/writer", ANNA),
        bind("here", "ClusterRole/reader", BOT, namespace="shop"),
        bind("logs", "Role/reader", ANNA, namespace="shop"),
        bind("system:logs", "Role/reader", ANNA, namespace="shop"),
        bind("lost", "Role/reader", ANNA, namespace="elsewhere"),
        bind("web", "Role/one", BOT | {"namespace": "ci"}, namespace="shop"),
    ]
    everyone = [("system:masters", "", "", ""), ("anna", "", "all", "")]
    here = ("shop/bot", "shop", "here", "")
    assert found(PODS, roles, bindings) == [*everyone, ("ci/bot", "shop", "web", "web"), here]
    assert found(replace(PODS, name="web"), roles, bindings) == [*everyone, ("ci/bot", "shop", "web", "web"), here]
    assert found(replace(PODS, name="db"), roles, bindings) == [*everyone, here]
    logs = [("system:masters", "", "", ""), ("ci/bot", "shop", "web", "web"), ("anna", "shop", "logs", "")]
    logs.append(("anna", "shop", "system:logs", ""))
    assert found(replace(PODS, subresource="log"), roles, bindings) == logs
    create = Wanted("create", resource="pods", is_namespaced=True)
    assert found(create, roles, bindings) == [("system:masters", "", "", "")], "a new object has no name yet"


@pytest.mark.parametrize(
    ("wanted", "scope"),
    [
        (PODS, ""),
        (replace(PODS, namespace="shop"), "shop"),
        (Wanted("get", resource="nodes"), None),
        (Wanted("get", resource="namespaces"), None),
        (Wanted("get", resource="namespaces", name="shop"), "shop"),
        (Wanted("get", path="/metrics"), None),
    ],
    ids=["any namespace", "a namespace", "cluster-scoped", "namespaces", "one namespace", "a path"],
)
def test_bindings_of_a_namespace_count_for_what_is_in_it(wanted: Wanted, scope: str | None) -> None:
    assert wanted.scope == scope


def test_paths_and_groups_of_everybody() -> None:
    roles = [role("monitor", {"verbs": ["get"], "nonResourceURLs": ["/metrics*"], "resourceNames": ["x"]})]
    groups = [{"kind": "Group", "name": each} for each in ("system:masters", "system:serviceaccounts:ci")]
    bindings = [bind("monitor", "ClusterRole/monitor", *groups)]
    who = WhoCan(Wanted("get", path="/metrics/slis"))
    who.add_roles(msgspec.convert(roles, list[RoleObject]))
    who.add_bindings(msgspec.convert(bindings, list[BindingObject]))
    assert [(each.subject.name, each.subject.note, each.binding) for each in who.grants] == [
        ("system:masters", "", "monitor"),
        ("system:serviceaccounts:ci", "every service account of ci", "monitor"),
    ]


def test_a_user_of_the_name_of_a_group_is_another_subject() -> None:
    bindings = [bind("all", "ClusterRole/reader", {"kind": "User", "name": "system:masters"})]
    grants = [("system:masters", "", "", ""), ("system:masters", "", "all", "")]
    assert found(PODS, [role("reader", rule("", ["pods"], ["get"]))], bindings) == grants


def test_an_aggregated_role_has_the_rules_of_those_that_it_selects() -> None:
    def labelled(name: str, label: str, *rules: JsonObject) -> JsonObject:
        return {**role(name, *rules), "metadata": {"name": name, "labels": {label: "yes"}}}

    def selecting(name: str, label: str, *labels: str) -> JsonObject:
        selectors = [{"matchLabels": {each: "yes"}} for each in labels]
        # Rules that a controller wrote once, and that do not count any more.
        return labelled(name, label, rule("*", ["*"], ["*"])) | {"aggregationRule": {"clusterRoleSelectors": selectors}}

    one = rule("", ["pods"], ["get"]) | {"resourceNames": ["web"]}
    roles = [
        selecting("edit", "b", "a", "b", "nowhere"),
        selecting("view", "a", "c"),
        selecting("none", "none", "nowhere"),
        labelled("one", "c", one),
        labelled("other", "c", rule("", ["pods"], ["list"])),
        labelled("all", "b", rule("", ["pods"], ["get"])),
    ]
    bindings = [bind(name, f"ClusterRole/{name}", {"kind": "User", "name": name}) for name in ("edit", "none", "view")]
    masters = ("system:masters", "", "", "")
    assert found(PODS, roles, bindings) == [masters, ("edit", "", "edit", ""), ("view", "", "view", "web")]
    assert found(replace(PODS, name="db"), roles, bindings) == [masters, ("edit", "", "edit", "")]
