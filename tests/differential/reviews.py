"""The part of the conversation that is about access reviews with field and label selectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.differential.step import Step

_ROOT = "/apis/authorization.k8s.io/v1"
_NODE = {"user": "system:node:k1", "groups": ["system:nodes"]}
_PODS = {"verb": "list", "resource": "pods"}


def _requirement(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


_OWN = _requirement("spec.nodeName", "In", "k1")
_FIELDS: dict[str, Any] = {
    "its own node, raw": {"rawSelector": "spec.nodeName=k1"},
    "its own node among others": {"rawSelector": "spec.nodeName=k2,spec.nodeName=k1,metadata.name=a"},
    "its own node, as a requirement": {"requirements": [_OWN]},
    "another node": {"rawSelector": "spec.nodeName=k2"},
    "all but its own node": {"rawSelector": "spec.nodeName!=k1"},
    "all but its own node, as a requirement": {"requirements": [_requirement("spec.nodeName", "NotIn", "k1")]},
    "two nodes": {"requirements": [_requirement("spec.nodeName", "In", "k1", "k2")]},
    "its own node and an unknown operator": {"requirements": [_OWN, _requirement("spec.x", "Near", "k1")]},
    "an operator that fields lack": {"requirements": [_requirement("spec.nodeName", "Exists")]},
    "nonsense": {"rawSelector": "spec.nodeName"},
    "nothing": {},
    "null": None,
    "null in it": {"rawSelector": None, "requirements": None},
    "both forms": {"rawSelector": "a=b", "requirements": [_OWN]},
    "no key": {"requirements": [_requirement("", "In", "k1")]},
    "no values": {"requirements": [_requirement("spec.nodeName", "In"), _requirement("spec.nodeName", "NotIn")]},
    "values that may not be": {
        "requirements": [_requirement("a", "Exists", "b"), _requirement("a", "DoesNotExist", "b")]
    },
}
_LABELS: dict[str, Any] = {
    "raw": {"rawSelector": "app in (web,db),!old"},
    "requirements": {"requirements": [_requirement("app", "In", "web", "db"), _requirement("old", "DoesNotExist")]},
    "an unknown operator": {"requirements": [_requirement("app", "Near", "web")]},
    "an unknown operator and a known one": {
        "requirements": [_requirement("a", "Near", "b"), _requirement("a", "Exists")]
    },
    "nonsense": {"rawSelector": "app in web"},
    "nothing": {},
    "both forms": {"rawSelector": "a=b", "requirements": [_requirement("a", "Exists")]},
    "wrong keys and values": {"requirements": [_requirement("a b", "In", "c d", "e"), _requirement("", "NotIn")]},
}


def _review(kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}


def _steps() -> Iterator[Step]:
    many = f"{_ROOT}/subjectaccessreviews"
    for name, selector in _FIELDS.items():
        spec = {**_NODE, "resourceAttributes": {**_PODS, "fieldSelector": selector}}
        yield Step(f"review of fields: {name}", "POST", many, _review("SubjectAccessReview", spec))
    for name, selector in _LABELS.items():
        spec = {"user": "u", "resourceAttributes": {**_PODS, "labelSelector": selector}}
        yield Step(f"review of labels: {name}", "POST", many, _review("SubjectAccessReview", spec))
    nonsense = {"fieldSelector": {"rawSelector": "a"}, "labelSelector": {"rawSelector": "a b"}}
    both = {"resourceAttributes": {**_PODS, **nonsense}}
    own = f"{_ROOT}/selfsubjectaccessreviews"
    yield Step("own review of both selectors", "POST", own, _review("SelfSubjectAccessReview", both))
    empty = {"resourceAttributes": {**_PODS, "fieldSelector": {}}}
    yield Step("own review of no fields", "POST", own, _review("SelfSubjectAccessReview", empty))
    local = {**_NODE, "resourceAttributes": {**_PODS, "namespace": "diff", "fieldSelector": {"requirements": [_OWN]}}}
    path = f"{_ROOT}/namespaces/diff/localsubjectaccessreviews"
    yield Step("local review of fields", "POST", path, _review("LocalSubjectAccessReview", local))


_LIKELY = {"user": "u", "resourceAttributes": _PODS}


def _odd_steps() -> Iterator[Step]:
    """What a review does not know, and where it says that it is."""
    for kind in ("SubjectAccessReview", "SelfSubjectAccessReview"):
        path = f"{_ROOT}/{kind.lower()}s"
        for told in ("Strict", "Warn"):
            odd = _review(kind, {**_LIKELY, "odd": 1})
            yield Step(f"{kind} of an odd field, {told}", "POST", f"{path}?fieldValidation={told}", odd)
        placed = {**_review(kind, {"resourceAttributes": _PODS}), "metadata": {"namespace": "other"}}
        yield Step(f"{kind} placed", "POST", path, placed)
    path = f"{_ROOT}/namespaces/diff/localsubjectaccessreviews"
    elsewhere = {**_review("LocalSubjectAccessReview", _LIKELY), "metadata": {"namespace": "other"}}
    yield Step("local review of another place", "POST", path, elsewhere)
    yield Step(
        "review of a wrong type", "POST", f"{_ROOT}/subjectaccessreviews", _review("SubjectAccessReview", {"user": 5})
    )
    rules = _review("SelfSubjectRulesReview", {"namespace": "diff"})
    yield Step("review of rules", "POST", f"{_ROOT}/selfsubjectrulesreviews", rules, user="nobody")
    yield Step("review of oneself", "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {}, user="nobody")
    for name, token in (("wrong", "x"), ("empty", "")):
        asked = {"spec": {"token": token}}
        yield Step(f"review of a {name} token", "POST", "/apis/authentication.k8s.io/v1/tokenreviews", asked)
    tokens = "/api/v1/namespaces/diff/serviceaccounts/default/token"
    for name, metadata in (("name", {"name": "other"}), ("namespace", {"namespace": "other"})):
        yield Step(f"token of another {name}", "POST", tokens, {"metadata": metadata, "spec": {}})
    for verb in ("deletecollection", "list"):
        attributes = {"verb": verb, "resource": "secrets", "name": "a"}
        spec = {"user": "u", "resourceAttributes": attributes}
        yield Step(f"review of {verb}", "POST", f"{_ROOT}/subjectaccessreviews", _review("SubjectAccessReview", spec))


REVIEW_STEPS = list(_steps())
REVIEWED = [step.id for step in REVIEW_STEPS]
"""Their statuses are compared to the word."""
_ODD_STEPS = list(_odd_steps())
ALL_REVIEW_STEPS = [*REVIEW_STEPS, *_ODD_STEPS]
