"""The part of the conversation that is about the service accounts of Pods, in a namespace of its own."""

from __future__ import annotations

from typing import Any

from tests.differential.step import MERGE, STRATEGIC, Step, account, api

_NS = "/api/v1/namespaces/accounts"
_PODS = f"{_NS}/pods"
_TOKENS = "/var/run/secrets/kubernetes.io/serviceaccount"
_MAIN = {"name": "main", "image": "nginx:1"}
_SECRET_ENV = [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "other", "key": "k"}}}]
_SECRET_FROM = [{"secretRef": {"name": "other"}}]


def _pod(name: str, annotations: dict[str, str] | None = None, **spec: Any) -> Step:
    pod = api("Pod", "v1", name, spec={"containers": [_MAIN], **spec})
    pod["metadata"]["annotations"] = annotations or {}
    return Step(f"account: {name}", "POST", _PODS, pod)


def _account(name: str, annotations: dict[str, str] | None = None, **more: Any) -> Step:
    given = api("ServiceAccount", "v1", name, **more)
    given["metadata"]["annotations"] = annotations or {}
    return Step(f"account {name}", "POST", f"{_NS}/serviceaccounts", given)


def _mounted(name: str, path: str) -> dict[str, Any]:
    return {**_MAIN, "name": name, "volumeMounts": [{"name": "own", "mountPath": path}]}


def _annotated(id_: str, name: str, value: str | None) -> Step:
    patch = {"metadata": {"labels": {"a": "b"}, "annotations": {"kubernetes.io/config.mirror": value}}}
    return Step(f"account: {id_}", "PATCH", f"{_PODS}/{name}", patch, MERGE)


_OWN = {"name": "own", "emptyDir": {}}
_MIRROR = {"kubernetes.io/config.mirror": "x"}
_PROJECTED = {"name": "t", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}
_STRICT: dict[str, Any] = {"serviceAccountName": "strict"}
_REFUSED = [
    _pod("of-nobody", serviceAccountName="nobody"),
    _pod("of-nobody-by-the-old-name", serviceAccount="nobody"),
    _pod("of-nobody-without-a-token", serviceAccountName="nobody", automountServiceAccountToken=False),
    _pod("mirror-with-account", _MIRROR, serviceAccountName="default"),
    _pod("mirror-with-pull-secret", _MIRROR, imagePullSecrets=[{"name": "a"}]),
    _pod("mirror-with-secret", _MIRROR, containers=[{**_MAIN, "envFrom": _SECRET_FROM}]),
    _pod("mirror-with-token", _MIRROR, volumes=[_PROJECTED]),
    _pod("strict-volume", **_STRICT, volumes=[{"name": "s", "secret": {"secretName": "other"}}]),
    _pod("strict-variable", **_STRICT, containers=[{**_MAIN, "env": _SECRET_ENV}]),
    _pod("strict-variables", **_STRICT, containers=[{**_MAIN, "envFrom": _SECRET_FROM}]),
    _pod("strict-init", **_STRICT, initContainers=[{**_MAIN, "name": "first", "env": _SECRET_ENV}]),
    _pod("strict-pull", **_STRICT, imagePullSecrets=[{"name": "pull"}, {"name": "other"}]),
    Step(
        "account: strict-ephemeral",
        "PATCH",
        f"{_PODS}/strict-listed/ephemeralcontainers",
        {"spec": {"ephemeralContainers": [{"name": "e", "image": "b", "env": _SECRET_ENV}]}},
        STRATEGIC,
    ),
]
ACCOUNT_STEPS = [
    Step("namespace of accounts", "POST", "/api/v1/namespaces", api("Namespace", "v1", "accounts")),
    account("accounts"),
    _account("quiet", automountServiceAccountToken=False),
    _account("pulling", imagePullSecrets=[{"name": "one"}, {"name": "two"}]),
    _account(
        "strict",
        {"kubernetes.io/enforce-mountable-secrets": "true"},
        secrets=[{"name": "listed"}],
        imagePullSecrets=[{"name": "pull"}],
    ),
    _pod("plain"),
    _pod("not-mounted", automountServiceAccountToken=False),
    _pod("quiet", serviceAccountName="quiet"),
    _pod("loud", serviceAccountName="quiet", automountServiceAccountToken=True),
    _pod("with-init", initContainers=[{**_MAIN, "name": "first"}], containers=[_MAIN, {**_MAIN, "name": "b"}]),
    _pod("own-mount", volumes=[_OWN], containers=[_mounted("a", _TOKENS), _mounted("b", "/data")]),
    _pod("own-mounts", volumes=[_OWN], containers=[_mounted("a", _TOKENS)]),
    _pod("own-volume", volumes=[{"name": "kube-api-access-mine0", "emptyDir": {}}]),
    _pod("pulls", serviceAccountName="pulling"),
    _pod("pulls-otherwise", serviceAccountName="pulling", imagePullSecrets=[{"name": "three"}]),
    _pod("mirror", _MIRROR, nodeName="n1"),
    _pod("mirror-without-node", _MIRROR),
    _annotated("mirror changed", "mirror", "y"),
    _annotated("mirror removed", "mirror", None),
    _annotated("mirror added", "plain", "y"),
    _annotated("mirror relabelled", "mirror", "x"),
    _pod("strict-listed", **_STRICT, volumes=[{"name": "s", "secret": {"secretName": "listed"}}]),
    *_REFUSED,
]
WORDED = [step.id for step in _REFUSED if step.method == "POST"]
"""Steps whose messages are compared too."""
