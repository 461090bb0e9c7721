"""Which FlowSchema and which priority level a request gets."""

from __future__ import annotations

import time
from typing import Any

import pytest

from homeostat.objects.flow_control import default_objects
from homeostat.objects.json import JsonObject
from homeostat.server.access.user import NOBODY, SELF, User, service_account_groups, service_account_name
from homeostat.server.flow_control.classifier import Classifier
from homeostat.server.request.paths import ObjectPath

_JANE = User("jane", groups=("devs", "system:authenticated"))
_NODE = User("system:node:n1", groups=("system:nodes", "system:authenticated"))
_ROBOT = User(service_account_name("team", "robot"), groups=service_account_groups("team"))
_KUBE = User(service_account_name("kube-system", "robot"), groups=service_account_groups("kube-system"))
_PODS = ObjectPath("", "v1", "pods", "team")
_LEASES = ObjectPath("coordination.k8s.io", "v1", "leases", "kube-system")
_NODES = ObjectPath("", "v1", "nodes", "", "n1", "status")
_ALL = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}


def classifier(*objects: JsonObject) -> Classifier:
    made = Classifier()
    for obj in (*default_objects(), *objects):
        made.put({**obj, "metadata": {**obj["metadata"], "uid": f"{obj['kind']}-{obj['metadata']['name']}"}})
    return made


def level(name: str, **limited: Any) -> JsonObject:
    spec = {"type": "Limited", "limited": {"nominalConcurrencyShares": 5, **limited}}
    return {"kind": "PriorityLevelConfiguration", "metadata": {"name": name}, "spec": spec}


def schema(name: str, precedence: int, to: str, *rules: JsonObject) -> JsonObject:
    spec = {"priorityLevelConfiguration": {"name": to}, "matchingPrecedence": precedence, "rules": list(rules)}
    return {"kind": "FlowSchema", "metadata": {"name": name}, "spec": spec}


def rule(user: str = "*", **rules: Any) -> JsonObject:
    return {"subjects": [{"kind": "User", "user": {"name": user}}], **(rules or {"resourceRules": [_ALL]})}


@pytest.mark.parametrize(
    ("user", "verb", "path", "expected"),
    [
        (SELF, "get", _PODS, "exempt"),
        (_JANE, "get", _PODS, "global-default"),
        (NOBODY, "list", _PODS, "global-default"),
        (_ROBOT, "get", _PODS, "service-accounts"),
        (_KUBE, "get", _PODS, "kube-system-service-accounts"),
        (_KUBE, "update", _LEASES, "system-leader-election"),
        (_KUBE, "patch", _LEASES, "kube-system-service-accounts"),
        (_NODE, "update", _LEASES, "system-node-high"),
        (_NODE, "patch", _NODES, "system-node-high"),
        (_NODE, "get", _PODS, "system-nodes"),
        (User("nobody-at-all"), "get", _PODS, "catch-all"),
    ],
)
def test_default_objects_classify_as_in_kubernetes(user: User, verb: str, path: ObjectPath, expected: str) -> None:
    made = classifier()
    for _ in range(2):
        assert made.classify(user, verb, path).key[0] == expected


@pytest.mark.parametrize(
    ("path", "expected"), [("/livez", "probes"), ("/readyz/ping", "probes"), ("/version", "global-default")]
)
def test_probes_are_exempt(path: str, expected: str) -> None:
    found = classifier().classify_page(_JANE, "get", path)
    assert found.key[0] == expected
    assert (found.level is None) == (expected == "probes")


def test_the_lowest_precedence_that_matches_decides_and_names_decide_between_equals() -> None:
    made = classifier(
        level("own"), schema("b", 300, "own", rule()), schema("a", 300, "own", rule()), schema("c", 301, "own", rule())
    )
    assert made.classify(_JANE, "get", _PODS).key[0] == "a"


def test_a_schema_of_a_missing_level_counts_as_absent_until_the_level_exists() -> None:
    made = classifier(schema("mine", 300, "missing", rule()))
    assert made.classify(_JANE, "get", _PODS).key[0] == "global-default"
    made.put(level("missing"))
    assert made.classify(_JANE, "get", _PODS).key[0] == "mine"
    made.remove("flowschemas.flowcontrol.apiserver.k8s.io", "mine")
    assert made.classify(_JANE, "get", _PODS).key[0] == "global-default"


def test_the_header_lines_have_the_uids() -> None:
    assert classifier().classify(_ROBOT, "get", _PODS).lines == (
        b"X-Kubernetes-Pf-Flowschema-Uid: FlowSchema-service-accounts\r\n"
        b"X-Kubernetes-Pf-Prioritylevel-Uid: PriorityLevelConfiguration-workload-low\r\n"
    )


def test_mandatory_objects_count_as_present_when_they_are_missing() -> None:
    made = Classifier()
    assert (made.classify(SELF, "get", _PODS).key[0], made.classify(_JANE, "get", _PODS).key[0]) == (
        "exempt",
        "catch-all",
    )


def test_a_mandatory_schema_that_an_earlier_version_let_users_change_is_as_it_must_be() -> None:
    made = classifier(schema("catch-all", 10_000, "gone", rule("jane")), schema("exempt", 1, "gone", rule("jane")))
    assert made.classify(User("nobody-at-all"), "get", _PODS).key[0] == "catch-all"
    assert made.classify(SELF, "get", _PODS).key[0] == "exempt"
    assert made.classify(_JANE, "get", _PODS).lines.startswith(b"X-Kubernetes-Pf-Flowschema-Uid: FlowSchema-global")


@pytest.mark.parametrize(
    ("method", "expected"), [("ByUser", "jane"), ("ByNamespace", "team"), ("", "")], ids=["user", "namespace", "none"]
)
def test_flows_are_distinguished_as_the_schema_says(method: str, expected: str) -> None:
    mine = schema("mine", 300, "own", rule())
    if method:
        mine["spec"]["distinguisherMethod"] = {"type": method}
    assert classifier(level("own"), mine).classify(_JANE, "get", _PODS).key == ("mine", expected)


@pytest.mark.parametrize(
    ("rules", "verb", "path", "is_matched"),
    [
        ({"verbs": ["get"]}, "get", _PODS, True),
        ({"verbs": ["get"]}, "list", _PODS, False),
        ({"resources": ["pods"]}, "get", _PODS._replace(name="p", subresource="status"), False),
        ({"resources": ["pods/status"]}, "get", _PODS._replace(name="p", subresource="status"), True),
        ({"apiGroups": ["apps"]}, "get", _PODS, False),
        ({"namespaces": ["team"]}, "get", _PODS, True),
        ({"namespaces": ["other"]}, "get", _PODS, False),
        ({"namespaces": ["team"], "clusterScope": False}, "list", _PODS._replace(namespace=""), False),
        ({"namespaces": ["team"]}, "get", ObjectPath("", "v1", "namespaces", "", "team"), True),
    ],
)
def test_a_rule_matches_what_it_lists(rules: JsonObject, verb: str, path: ObjectPath, is_matched: bool) -> None:
    made = classifier(level("own"), schema("mine", 300, "own", rule("jane", resourceRules=[{**_ALL, **rules}])))
    assert (made.classify(_JANE, verb, path).key[0] == "mine") == is_matched


@pytest.mark.parametrize(
    ("url", "path", "is_matched"),
    [
        ("/version", "/version", True),
        ("/version", "/version/", True),
        ("/version", "/versions", False),
        ("/openapi/*", "/openapi/v3", True),
        ("*", "/anything", True),
    ],
)
def test_a_path_stands_for_what_is_below_it(url: str, path: str, is_matched: bool) -> None:
    paths = {"nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": [url]}]}
    made = classifier(level("own"), schema("mine", 300, "own", rule("jane", **paths)))
    assert (made.classify_page(_JANE, "get", path).key[0] == "mine") == is_matched
    assert made.classify_page(_JANE, "post", path).key[0] == "global-default"


def test_what_callers_choose_is_kept_within_limits() -> None:
    made = classifier()
    for each in range(20_001):
        made.classify_page(_JANE, "get", f"/{each}")
    made.classify_page(_JANE, "get", "/" + "x" * 10_000)
    assert len(made._flows) < 10_001


@pytest.mark.parametrize(
    "user", [User("x" * 10_000), User("x", groups=("y" * 10_000,)), User("x", groups=("yz",) * 1000)]
)
def test_nothing_is_kept_for_a_user_with_long_names_or_many_groups(user: User) -> None:
    made = classifier()
    made.classify_page(user, "get", "/version")
    made.classify(user, "get", _PODS)
    assert not made._flows


def test_many_subjects_do_not_hold_up_a_request() -> None:
    others = [{"kind": "Group", "group": {"name": f"group-{number}"}} for number in range(100)]
    schemas = (
        schema(f"schema-{number}", 500, "system", {"subjects": others, "resourceRules": [_ALL]})
        for number in range(500)
    )
    made = classifier(*schemas)
    made.classify(_JANE, "get", _PODS)
    began = time.thread_time()
    for verb in ("list", "watch", "create", "update", "delete"):
        assert made.classify(_JANE, verb, _PODS).key[0] == "global-default"
    assert (time.thread_time() - began) / 5 < 0.005
