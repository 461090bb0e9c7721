"""The part of the conversation in which eve, who may write policies, must not learn what she may not read."""

from __future__ import annotations

from typing import Any

from tests.differential.step import MERGE, Step, api

_GROUP = "admissionregistration.k8s.io"
_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_EVE = "eve"
_SECRET = {"apiVersion": "v1", "kind": "Secret"}
_CONFIG = {"apiVersion": "v1", "kind": "ConfigMap"}
_VERSIONS = {"Validating": "v1", "Mutating": "v1beta1"}
_RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
_NOWHERE = {"resourceRules": [_RULE], "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "nowhere"}}}


def _path(which: str, plural: str, name: str = "") -> str:
    base = f"/apis/{_GROUP}/{_VERSIONS[which]}/{which.lower()}admission{plural}"
    return f"{base}/{name}" if name else base


def policy(which: str, name: str, param_kind: dict[str, str] | None) -> dict[str, Any]:
    spec: dict[str, Any] = {"matchConstraints": _NOWHERE}
    if param_kind is not None:
        spec["paramKind"] = param_kind
    if which == "Validating":
        spec["validations"] = [{"expression": "true"}]
    else:
        copied = {"expression": "Object{data: {'x': 'y'}}"}
        spec["mutations"] = [{"patchType": "ApplyConfiguration", "applyConfiguration": copied}]
        spec["reinvocationPolicy"] = "Never"
    return api(f"{which}AdmissionPolicy", f"{_GROUP}/{_VERSIONS[which]}", name, spec=spec)


def _ref(name: str = "", namespace: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {"name": name} if name else {"selector": {"matchLabels": {"a": "b"}}}
    if namespace:
        found["namespace"] = namespace
    return {**found, "parameterNotFoundAction": "Allow"}


def binding(which: str, name: str, of: str, ref: dict[str, Any] | None) -> dict[str, Any]:
    spec: dict[str, Any] = {"policyName": of}
    if ref is not None:
        spec["paramRef"] = ref
    if which == "Validating":
        spec["validationActions"] = ["Deny"]
    return api(f"{which}AdmissionPolicyBinding", f"{_GROUP}/{_VERSIONS[which]}", name, spec=spec)


def _granted(name: str, namespace: str, *rules: dict[str, Any]) -> list[Step]:
    """A role of eve, in a namespace or everywhere."""
    kind, place = ("Role", f"{_RBAC}/namespaces/{namespace}/") if namespace else ("ClusterRole", f"{_RBAC}/")
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": _EVE}
    version = "rbac.authorization.k8s.io/v1"
    bound = api(f"{kind}Binding", version, name, roleRef=ref, subjects=[subject])
    return [
        Step(f"{name} in {namespace}", "POST", f"{place}{kind.lower()}s", api(kind, version, name, rules=[*rules])),
        Step(f"{name} of eve in {namespace}", "POST", f"{place}{kind.lower()}bindings", bound),
    ]


def _rule(group: str, resource: str, *verbs: str, names: tuple[str, ...] = ()) -> dict[str, Any]:
    rule: dict[str, Any] = {"apiGroups": [group], "resources": [resource], "verbs": [*verbs]}
    return {**rule, "resourceNames": [*names]} if names else rule


_KINDS: dict[str, dict[str, str] | None] = {
    "that she may not read": _SECRET,
    "that she may read": _CONFIG,
    "that she may only list": {"apiVersion": "v1", "kind": "Service"},
    "of which she may read one": {"apiVersion": "v1", "kind": "ServiceAccount"},
    "that does not exist": {"apiVersion": "v1", "kind": "Nothing"},
    "of a group that does not exist": {"apiVersion": "none.example.com/v1", "kind": "Nothing"},
    "that is none": None,
}
_REFERENCES: dict[str, tuple[str, dict[str, Any] | None]] = {
    "to the one that she may read": ("of-secrets", _ref("seen", "mutated")),
    "to one that she may not read": ("of-secrets", _ref("hidden", "mutated")),
    "to one in any namespace": ("of-secrets", _ref("seen")),
    "to some of a namespace": ("of-secrets", _ref(namespace="mutated")),
    "to some of a namespace that she may list": ("of-secrets", _ref(namespace="diff")),
    "to one of a namespace that she may list": ("of-secrets", _ref("seen", "diff")),
    "to one of a kind that she may read": ("of-config", _ref("seen", "mutated")),
    "to some of a kind that she may read": ("of-config", _ref()),
    "of a policy that does not exist": ("of-none", _ref("seen", "mutated")),
    "of a policy without parameters": ("of-nothing", _ref("seen", "mutated")),
    "that is none": ("of-secrets", None),
}
_COLLECTION = "/api/v1/namespaces/mutated/secrets?fieldSelector=metadata.name=seen&dryRun=All"
_MADE = {"of-secrets": _SECRET, "of-config": _CONFIG, "of-nothing": None}

PARAMETER_SETUP = [
    *_granted(
        "policy-writer",
        "",
        _rule(_GROUP, "*", "*"),
        _rule("", "configmaps", "get"),
        _rule("", "services", "list"),
        _rule("", "serviceaccounts", "get", names=("default",)),
    ),
    *_granted("secret-reader", "mutated", _rule("", "secrets", "get", "deletecollection", names=("seen",))),
    *_granted("secret-lister", "diff", _rule("", "secrets", "list")),
    *(
        step
        for which in _VERSIONS
        for step in (
            *(
                Step(f"{which} policy {name}", "POST", _path(which, "policies"), policy(which, name, kind))
                for name, kind in _MADE.items()
            ),
            Step(
                f"{which} binding of-secrets",
                "POST",
                _path(which, "policybindings"),
                binding(which, "of-secrets", "of-secrets", _ref("hidden", "mutated")),
            ),
        )
    ),
]


def _changed(which: str, plural: str, name: str, what: str, change: dict[str, Any]) -> Step:
    path = f"{_path(which, plural, name)}?dryRun=All"
    return Step(f"{which} {plural} {what} by eve", "PATCH", path, change, MERGE, is_late=True, user=_EVE)


PARAMETER_STEPS = [
    Step("a collection of one name by eve", "DELETE", _COLLECTION, is_late=True, user=_EVE),
    *(
        step
        for which in _VERSIONS
        for step in (
            *(
                Step(
                    f"{which} policy of a kind {what}",
                    "POST",
                    f"{_path(which, 'policies')}?dryRun=All",
                    policy(which, "eves", kind),
                    is_late=True,
                    user=_EVE,
                )
                for what, kind in _KINDS.items()
            ),
            *(
                Step(
                    f"{which} binding {what}",
                    "POST",
                    f"{_path(which, 'policybindings')}?dryRun=All",
                    binding(which, "eves", of, ref),
                    is_late=True,
                    user=_EVE,
                )
                for what, (of, ref) in _REFERENCES.items()
            ),
            _changed(which, "policies", "of-secrets", "labelled", {"metadata": {"labels": {"by": _EVE}}}),
            _changed(which, "policies", "of-config", "of another kind", {"spec": {"paramKind": _SECRET}}),
            _changed(which, "policies", "of-nothing", "of a first kind", {"spec": {"paramKind": _SECRET}}),
            _changed(which, "policybindings", "of-secrets", "labelled", {"metadata": {"labels": {"by": _EVE}}}),
            _changed(which, "policybindings", "of-secrets", "to another", {"spec": {"paramRef": {"name": "other"}}}),
            _changed(
                which, "policybindings", "of-secrets", "of another policy", {"spec": {"policyName": "of-nothing"}}
            ),
            _changed(which, "policybindings", "of-secrets", "to none", {"spec": {"paramRef": None}}),
        )
    ),
]
