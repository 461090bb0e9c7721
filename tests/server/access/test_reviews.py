from __future__ import annotations

from collections.abc import Sequence

import pytest

from homeostat.objects.errors import ApiError, BadRequestError, InvalidError
from homeostat.objects.json import JsonObject
from homeostat.server.access.authz import Authorizer
from homeostat.server.access.rbac.authorizer import Rbac
from homeostat.server.access.reviews import Reviews
from homeostat.server.access.tokens.service_account import Accepted, InvalidTokenError
from homeostat.server.access.user import SELF, User
from tests.server.access.rbac.objects import binding, granting, put, rule, user

ALICE = user("alice", "devs")


class OneToken:
    """Knows one token, which is bob's and for the audience `git`."""

    def review(self, token: str, audiences: Sequence[str] = ()) -> Accepted:
        if token != "good":
            raise InvalidTokenError("invalid bearer token")
        return Accepted(User("bob", groups=("ops",)), float("inf"), tuple(audiences or ("git",)))


def answered(
    kind: str, spec: JsonObject | None, *, who: User = ALICE, namespace: str = "", metadata: object = None
) -> JsonObject:
    rbac = granting("User:alice", rule("get list", "pods"), rule("get", urls="/metrics"), namespace="")
    put(rbac, "ClusterRoleBinding", binding("lost", "ClusterRole:lost", "User:carol"))
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec, "metadata": metadata}
    return Reviews(Authorizer(rbac), OneToken()).answer(kind, review, user=who, namespace=namespace)


def on_pods(verb: str, **fields: str) -> JsonObject:
    return {"resourceAttributes": {"verb": verb, "resource": "pods", **fields}}


BY_BINDING = 'RBAC: allowed by ClusterRoleBinding "holds" of ClusterRole "held" to User "alice"'
SELF_ACCESS: dict[str, tuple[JsonObject, JsonObject]] = {
    "allowed": (on_pods("get", namespace="a"), {"allowed": True, "reason": BY_BINDING}),
    "not allowed": (on_pods("delete"), {"allowed": False}),
    "a subresource": (on_pods("get", subresource="status"), {"allowed": False}),
    "a URL": ({"nonResourceAttributes": {"verb": "get", "path": "/metrics"}}, {"allowed": True, "reason": BY_BINDING}),
    "another URL": ({"nonResourceAttributes": {"verb": "get", "path": "/x"}}, {"allowed": False}),
    "an empty URL": ({"nonResourceAttributes": {}}, {"allowed": False}),
    "nulls": ({"resourceAttributes": {"verb": "get", "resource": "pods", "name": None}, "nonResourceAttributes": None},
              {"allowed": True, "reason": BY_BINDING}),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "status"), SELF_ACCESS.values(), ids=SELF_ACCESS)
def test_may_i(spec: JsonObject, status: JsonObject) -> None:
    assert answered("SelfSubjectAccessReview", spec)["status"] == status


def test_a_review_comes_back_as_it_was_sent() -> None:
    answer = answered("SelfSubjectAccessReview", on_pods("get"))
    assert answer["kind"] == "SelfSubjectAccessReview"
    assert answer["spec"] == on_pods("get")
    assert answer["metadata"] == {}


def test_may_they() -> None:
    spec = {**on_pods("get"), "user": "alice", "groups": ["x"]}
    assert answered("SubjectAccessReview", spec, who=user("carol"))["status"]["allowed"]
    assert not answered("SubjectAccessReview", {**on_pods("get"), "groups": ["x"]})["status"]["allowed"]


def test_a_denial_names_roles_that_were_not_found() -> None:
    status = answered("SubjectAccessReview", {**on_pods("get"), "user": "carol"})["status"]
    assert status == {"allowed": False, "reason": 'RBAC: clusterrole.rbac.authorization.k8s.io "lost" not found'}


def test_may_they_in_this_namespace() -> None:
    spec = {**on_pods("get", namespace="a"), "user": "alice"}
    for metadata in ({}, {"namespace": "a"}):
        answer = answered("LocalSubjectAccessReview", spec, namespace="a", metadata=metadata)
        assert answer["status"]["allowed"]


INVALID: dict[str, tuple[str, JsonObject, str]] = {
    "neither question": (
        "SelfSubjectAccessReview",
        {},
        (
            'SelfSubjectAccessReview.authorization.k8s.io "" is invalid: spec.resourceAttributes: Invalid value: null: '
            "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        ),
    ),
    "both questions": (
        "SelfSubjectAccessReview",
        {**on_pods("get"), "nonResourceAttributes": {"path": "/"}},
        "cannot be specified in combination with resourceAttributes",
    ),
    "nobody to ask about": (
        "SubjectAccessReview",
        on_pods("get"),
        'spec.user: Invalid value: "": at least one of user or group must be specified',
    ),
    "another namespace": (
        "LocalSubjectAccessReview",
        {**on_pods("get", namespace="b"), "user": "x"},
        'spec.resourceAttributes.namespace: Invalid value: "b": must match metadata.namespace',
    ),
    "a URL in a namespace": (
        "LocalSubjectAccessReview",
        {"nonResourceAttributes": {"path": "/"}, "user": "x"},
        "disallowed on this kind of request",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "spec", "message"), INVALID.values(), ids=INVALID)
def test_a_question_that_is_none_is_invalid(kind: str, spec: JsonObject, message: str) -> None:
    with pytest.raises(InvalidError) as refused:
        answered(kind, spec, namespace="a")
    assert message in refused.value.message


def test_metadata_must_be_empty() -> None:
    with pytest.raises(InvalidError, match=r"metadata: Invalid value: .*: must be empty"):
        answered("SelfSubjectAccessReview", on_pods("get"), metadata={"name": "x"})
    empty: JsonObject = {"creationTimestamp": None, "managedFields": [{}]}
    assert answered("SelfSubjectAccessReview", on_pods("get"), metadata=empty)["status"]["allowed"]


BAD: dict[str, tuple[str, object, object]] = {
    "a spec that is a list": ("SelfSubjectAccessReview", [], None),
    "attributes that are a text": ("SelfSubjectAccessReview", {"resourceAttributes": "pods"}, None),
    "a verb that is a number": ("SelfSubjectAccessReview", {"resourceAttributes": {"verb": 1}}, None),
    "groups that are a text": ("SubjectAccessReview", {"groups": "devs"}, None),
    "metadata that is a list": ("SelfSubjectAccessReview", {}, ["x"]),
    "rules of no namespace": ("SelfSubjectRulesReview", {}, None),
    "no token": ("TokenReview", {}, None),
    "a namespace of its own": (
        "LocalSubjectAccessReview", {**on_pods("get", namespace="b"), "user": "x"}, {"namespace": "b"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "spec", "metadata"), BAD.values(), ids=BAD)
def test_what_cannot_be_understood_is_a_bad_request(kind: str, spec: JsonObject, metadata: object) -> None:
    with pytest.raises(ApiError) as refused:
        answered(kind, spec, namespace="a", metadata=metadata)
    assert type(refused.value) is BadRequestError


def test_what_may_i_do() -> None:
    status = answered("SelfSubjectRulesReview", {"namespace": "a"})["status"]
    assert status == {
        "resourceRules": [{"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}],
        "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/metrics"]}],
        "incomplete": False,
    }


def test_the_rules_review_of_masters_shows_all_permissions() -> None:
    status = answered("SelfSubjectRulesReview", {"namespace": "a"}, who=SELF)["status"]
    assert status["resourceRules"] == [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]
    assert status["nonResourceRules"] == [{"verbs": ["*"], "nonResourceURLs": ["*"]}]


def test_rules_that_could_not_be_resolved_are_reported() -> None:
    status = answered("SelfSubjectRulesReview", {"namespace": "a"}, who=user("carol"))["status"]
    assert status["evaluationError"] == 'clusterrole.rbac.authorization.k8s.io "lost" not found'


def test_who_am_i() -> None:
    status = answered("SelfSubjectReview", None)["status"]
    assert status == {"userInfo": {"username": "alice", "groups": ["devs", "system:authenticated"]}}


def test_whose_token_is_it() -> None:
    assert answered("TokenReview", {"token": "good", "audiences": ["x"]})["status"] == {
        "authenticated": True,
        "user": {"username": "bob", "groups": ["ops"]},
        "audiences": ["x"],
    }
    assert answered("TokenReview", {"token": "bad"})["status"] == {
        "user": {},
        "error": "invalid bearer token",
    }


def test_a_kind_that_is_no_review_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        Reviews(Authorizer(Rbac()), OneToken()).answer("Pod", {}, user=ALICE)
