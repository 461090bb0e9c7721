"""The kinds that bad input is tried on: one of each sort the server treats differently, with an object of each."""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.api.objects import CONFIGMAPS, CRDS, DEPLOYMENTS, WIDGETS, configmap, definition, deployment, widget
from tests.fuzz.driver import Driver

FREES = "/apis/example.com/v1/namespaces/default/frees"
SECRETS = "/api/v1/namespaces/default/secrets"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
_RBAC = "rbac.authorization.k8s.io"


class Target(NamedTuple):
    name: str
    collection: str
    base: dict[str, Any]
    """An object that is there from the start."""
    is_stored: bool = True

    @property
    def path(self) -> str:
        return f"{self.collection}/{self.base['metadata']['name']}"


def free(name: str = "base", spec: Any = None) -> dict[str, Any]:
    """An object whose spec may hold anything."""
    return {"apiVersion": "example.com/v1", "kind": "Free", "metadata": {"name": name}, "spec": spec or {}}


def crd_of(kind: str, schema: dict[str, Any], **version: Any) -> dict[str, Any]:
    obj = definition(schema={"openAPIV3Schema": schema}, **version)
    plural = f"{kind.lower()}s"
    obj["metadata"]["name"] = f"{plural}.example.com"
    obj["spec"]["names"] = {"plural": plural, "kind": kind}
    return obj


def free_definition() -> dict[str, Any]:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return crd_of("Free", {"type": "object", "properties": {"spec": anything}})


def webhook() -> dict[str, Any]:
    """One that is interested in nothing that any test writes."""
    rule = {"apiGroups": ["example.org"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["nones"]}
    hook = {
        "name": "a.example.org",
        "clientConfig": {"url": "https://localhost:1/x"},
        "rules": [rule],
        "matchConditions": [{"name": "never", "expression": "object.metadata.name == 'x'"}],
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "timeoutSeconds": 1,
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "base"},
        "webhooks": [hook],
    }


def role() -> dict[str, Any]:
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"], "resourceNames": ["x"]}
    return {"apiVersion": f"{_RBAC}/v1", "kind": "Role", "metadata": {"name": "base"}, "rules": [rule]}


def binding() -> dict[str, Any]:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "base"},
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "ServiceAccount", "name": "x", "namespace": "default"}],
    }


def access_review() -> dict[str, Any]:
    asked = {"verb": "get", "resource": "pods", "namespace": "default"}
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "metadata": {},
        "spec": {"resourceAttributes": asked},
    }


def token_review() -> dict[str, Any]:
    return {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenReview",
        "metadata": {},
        "spec": {"token": "x.y.z", "audiences": ["a"]},
    }


def secret() -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "base"}, "data": {"a": "eA=="}, "type": "Opaque"}


TARGETS = (
    Target("configmap", CONFIGMAPS, configmap("base")),
    Target("secret", SECRETS, secret()),
    Target("deployment", DEPLOYMENTS, deployment("base")),
    Target("widget", WIDGETS, widget("base")),
    Target("free", FREES, free()),
    Target("definition", CRDS, definition()),
    Target("webhook", WEBHOOKS, webhook()),
    Target("role", ROLES, role()),
    Target("binding", BINDINGS, binding()),
)
REVIEWS = (
    Target("access review", ACCESS_REVIEWS, access_review(), is_stored=False),
    Target("token review", TOKEN_REVIEWS, token_review(), is_stored=False),
)


def prepare(driver: Driver) -> None:
    """Make an object of each kind, definitions first."""
    first = [(CRDS, free_definition()), (CRDS, definition())]
    rest = [(each.collection, each.base) for each in TARGETS if each.collection != CRDS]
    for path, obj in [*first, *rest]:
        answer = driver.send("POST", path, obj)
        assert answer.status == 201, answer
