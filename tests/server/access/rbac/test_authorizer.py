from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from threading import Event, Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.access.rule import allows, rule_of
from homeostat.objects.json import JsonObject
from homeostat.server.access.attributes import Attributes, Decision
from homeostat.server.access.rbac.authorizer import MOST_KEPT_CHARACTERS, Rbac, RoleRef
from homeostat.server.access.user import User, service_account_name
from tests.examples import examples
from tests.server.access.rbac.objects import binding, granting, may, put, role, rule, user

GET_PODS = rule("get", "pods")


def decided(rbac: Rbac, who: User, **fields: Any) -> Decision:
    return rbac.decide(Attributes(who, "get", resource="pods", **fields))


SUBJECTS = {
    "the user": ("User:alice", user("alice"), True),
    "another user": ("User:alice", user("bob"), False),
    "a group": ("Group:devs", user("bob", "devs"), True),
    "a group's name is not a user's": ("Group:devs", user("devs"), False),
    "a user's name is not a group's": ("User:devs", user("bob", "devs"), False),
    "a service account": ("ServiceAccount:ci/bot", user("system:serviceaccount:ci:bot"), True),
    "a service account of another namespace": ("ServiceAccount:ci/bot", user("system:serviceaccount:cd:bot"), False),
    "a service account of no namespace, bound everywhere": (
        "ServiceAccount:bot",
        user("system:serviceaccount::bot"),
        False,
    ),
    "a kind that nobody knows": ("Robot:bot", user("bot"), False),
}


@pytest.mark.parametrize(("subject", "who", "expected"), SUBJECTS.values(), ids=SUBJECTS)
def test_a_binding_means_its_subjects(subject: str, who: User, expected: bool) -> None:
    assert may(granting(subject, GET_PODS), who, "get", "pods") is expected


def test_a_role_binding_holds_in_its_namespace_only() -> None:
    rbac = granting("User:alice", GET_PODS, namespace="a")
    assert may(rbac, user("alice"), "get", "pods", namespace="a")
    assert not may(rbac, user("alice"), "get", "pods", namespace="b")
    assert not may(rbac, user("alice"), "get", "pods")


def test_a_service_account_without_a_namespace_is_of_the_bindings() -> None:
    rbac = granting("ServiceAccount:bot", GET_PODS, namespace="ci")
    assert may(rbac, user("system:serviceaccount:ci:bot"), "get", "pods", namespace="ci")


def test_a_role_is_read_in_the_bindings_namespace() -> None:
    rbac = Rbac()
    put(rbac, "Role", role("mine", GET_PODS), "a")
    for namespace in ("a", "b"):
        put(rbac, "RoleBinding", binding("mine", "Role:mine", "User:alice"), namespace)
    assert may(rbac, user("alice"), "get", "pods", namespace="a")
    assert not may(rbac, user("alice"), "get", "pods", namespace="b")


def test_names_are_decided_one_by_one() -> None:
    rbac = granting("User:alice", rule("get", "pods", names="a b"))
    assert [decided(rbac, user("alice"), name=name).is_allowed for name in ("a", "b", "c", "")] == [
        True,
        True,
        False,
        False,
    ]


def test_the_reason_names_binding_role_and_subject() -> None:
    everywhere = granting("Group:devs", GET_PODS)
    assert decided(everywhere, user("alice", "devs")).reason == (
        'RBAC: allowed by ClusterRoleBinding "holds" of ClusterRole "held" to Group "devs"'
    )
    inside = granting("ServiceAccount:bot", GET_PODS, namespace="ci")
    assert decided(inside, user("system:serviceaccount:ci:bot"), namespace="ci").reason == (
        'RBAC: allowed by RoleBinding "holds/ci" of ClusterRole "held" to ServiceAccount "bot/ci"'
    )


def test_the_first_subject_that_matches_the_user_is_named() -> None:
    rbac = Rbac()
    put(rbac, "ClusterRole", role("held", GET_PODS))
    put(rbac, "ClusterRoleBinding", binding("holds", "ClusterRole:held", "Group:x", "Group:devs", "User:alice"))
    assert decided(rbac, user("alice", "devs")).reason.endswith('to Group "devs"')


def test_a_refusal_says_which_roles_were_not_found() -> None:
    rbac = Rbac()
    put(rbac, "ClusterRoleBinding", binding("one", "ClusterRole:gone", "User:alice"))
    assert decided(rbac, user("alice")) == (False, 'RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found')
    put(rbac, "RoleBinding", binding("two", "Role:lost", "User:alice"), "a")
    assert decided(rbac, user("alice"), namespace="a").reason == (
        'RBAC: [clusterrole.rbac.authorization.k8s.io "gone" not found, '
        'role.rbac.authorization.k8s.io "lost" not found]'
    )


def test_a_change_of_any_kind_is_seen_by_the_next_decision() -> None:
    rbac = granting("User:alice", GET_PODS)
    assert may(rbac, user("alice"), "get", "pods")
    put(rbac, "ClusterRole", role("held", rule("list", "pods")))
    assert not may(rbac, user("alice"), "get", "pods")
    put(rbac, "ClusterRole", role("held", GET_PODS))
    put(rbac, "ClusterRoleBinding", binding("holds", "ClusterRole:held", "User:bob"))
    assert not may(rbac, user("alice"), "get", "pods")
    assert may(rbac, user("bob"), "get", "pods")
    rbac.remove("ClusterRoleBinding", "", "holds")
    assert not may(rbac, user("bob"), "get", "pods")


def test_removing_what_is_not_there_changes_nothing() -> None:
    rbac = granting("User:alice", GET_PODS)
    for kind in ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"):
        rbac.remove(kind, "", "nothing")
    assert may(rbac, user("alice"), "get", "pods")


def test_objects_with_nulls_for_lists_are_taken_in() -> None:
    rbac = Rbac()
    rbac.put("ClusterRole", "", "empty", {"metadata": {"labels": None}, "rules": None, "aggregationRule": None})
    rbac.put("ClusterRoleBinding", "", "empty", {"roleRef": None, "subjects": None})
    assert rbac.rules_of(RoleRef("ClusterRole", "empty"), "") == ()


NAMES, NAMESPACES = ("r", "s"), ("", "a", "b")
USERS = (user("u"), user("v", "g"), user("system:serviceaccount:a:u", "g", "h"))
RULES = st.builds(
    lambda verbs, resources, names, urls: {
        "verbs": verbs,
        "apiGroups": [""],
        "resources": resources,
        "resourceNames": names,
        "nonResourceURLs": urls,
    },
    st.lists(st.sampled_from(("get", "list", "*")), max_size=2),
    st.lists(st.sampled_from(("pods", "pods/log", "*/log")), max_size=2),
    st.lists(st.sampled_from(("x", "y")), max_size=1),
    st.lists(st.sampled_from(("/x", "/x*")), max_size=1),
)
SUBJECT_TEXTS = st.sampled_from(("User:u", "User:v", "Group:g", "Group:h", "ServiceAccount:a/u", "ServiceAccount:u"))
CHANGES = st.one_of(
    st.tuples(
        st.sampled_from((("Role", "a"), ("Role", "b"), ("ClusterRole", ""))),
        st.builds(lambda name, rules: role(name, *rules), st.sampled_from(NAMES), st.lists(RULES, max_size=2)),
        st.booleans(),
    ),
    st.tuples(
        st.sampled_from((("RoleBinding", "a"), ("RoleBinding", "b"), ("ClusterRoleBinding", ""))),
        st.builds(
            lambda name, kind, ref, subjects: binding(name, f"{kind}:{ref}", *subjects),
            st.sampled_from(NAMES),
            st.sampled_from(("Role", "ClusterRole")),
            st.sampled_from(NAMES),
            st.lists(SUBJECT_TEXTS, max_size=3),
        ),
        st.booleans(),
    ),
)
QUESTIONS = [
    Attributes(who, verb, resource="pods", subresource=subresource, namespace=namespace, name=name)
    for who in USERS
    for verb in ("get", "list")
    for subresource in ("", "log")
    for namespace in NAMESPACES
    for name in ("", "x")
] + [Attributes(who, "get", path=path) for who in USERS for path in ("/x", "/xy")]


def scanned(objects: dict[tuple[str, str, str], JsonObject], asked: Attributes) -> bool:
    """The answer from reading every binding, written from the documentation and not from the index."""

    def means(subject: JsonObject, namespace: str) -> bool:
        match subject["kind"]:
            case "User":
                return bool(subject["name"] == asked.user.name)
            case "Group":
                return subject["name"] in asked.user.groups
            case _:
                scope = subject.get("namespace") or namespace
                return bool(scope) and service_account_name(scope, subject["name"]) == asked.user.name

    for (kind, namespace, _), obj in objects.items():
        if not kind.endswith("Binding") or (namespace and namespace != asked.namespace):
            continue
        if not any(means(subject, namespace) for subject in obj["subjects"]):
            continue
        ref = obj["roleRef"]
        if ref["kind"] == "Role" and not namespace:
            continue
        found = objects.get((ref["kind"], namespace if ref["kind"] == "Role" else "", ref["name"]))
        if found is not None and any(allows(rule_of(each), asked) for each in found["rules"]):
            return True
    return False


@examples(60)
@given(st.lists(CHANGES, max_size=14))
def test_the_index_answers_as_a_scan_of_everything_would(
    changes: list[tuple[tuple[str, str], JsonObject, bool]],
) -> None:
    rbac = Rbac()
    objects: dict[tuple[str, str, str], JsonObject] = {}
    for (kind, namespace), obj, is_removal in changes:
        name = obj["metadata"]["name"]
        if is_removal and objects.pop((kind, namespace, name), None) is not None:
            rbac.remove(kind, namespace, name)
        else:
            objects[kind, namespace, name] = obj
            rbac.put(kind, namespace, name, obj)
        assert rbac.decide(QUESTIONS[0]).is_allowed == scanned(objects, QUESTIONS[0])
    for asked in QUESTIONS:
        assert rbac.decide(asked).is_allowed == scanned(objects, asked), asked


class _Paused(str):
    """A verb whose first comparison, in the midst of a decision, waits."""

    __slots__ = ("goes_on", "is_compared")

    def __init__(self, _: str) -> None:
        self.is_compared, self.goes_on = Event(), Event()

    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        self.is_compared.set()
        assert self.goes_on.wait(10)
        return str.__eq__(self, other)


def test_a_decision_of_a_thread_does_not_outlive_the_permission() -> None:
    rbac = granting("User:alice", GET_PODS, namespace="a")
    verb = _Paused("get")
    deciding = Thread(target=rbac.decide, args=(Attributes(user("alice"), verb, resource="pods", namespace="a"),))
    deciding.start()
    assert verb.is_compared.wait(10)
    revoking = Thread(target=rbac.remove, args=("RoleBinding", "a", "holds"))
    revoking.start()
    revoking.join(0.05)
    verb.goes_on.set()
    for thread in (deciding, revoking):
        thread.join(10)
    assert not may(rbac, user("alice"), "get", "pods", namespace="a")


def _kept_bytes(decide: Callable[[int], object], times: int) -> int:
    """Memory that decisions leave behind."""
    tracemalloc.start()
    try:
        for number in range(times):
            decide(number)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("field", ["path", "resource", "namespace", "subresource", "group", "verb"])
def test_decisions_on_long_texts_keep_little_memory(field: str) -> None:
    rbac, asked = granting("User:alice", GET_PODS), dict[str, Any](verb="get", resource="pods")
    kept = _kept_bytes(
        lambda number: rbac.decide(Attributes(user("alice"), **{**asked, field: f"{number}" + "x" * 100_000})), 400
    )
    assert kept < 1.5 * MOST_KEPT_CHARACTERS, "40 MB were asked for"


def test_decisions_that_depend_on_many_names_keep_little_memory() -> None:
    names = " ".join(f"n{number}" for number in range(10_000))
    rbac = granting("User:alice", rule("*", "*", groups="*", names=names))
    kept = _kept_bytes(lambda number: rbac.decide(Attributes(user("alice"), f"v{number}", resource="pods")), 50)
    assert kept < 1.5 * MOST_KEPT_CHARACTERS, "all of them would take 30 MB"
    assert may(rbac, user("alice"), "get", "pods", name="n9999")
