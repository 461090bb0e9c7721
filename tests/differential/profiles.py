"""The part of the conversation with annotations that name profiles of AppArmor and seccomp."""

from __future__ import annotations

from typing import Any

from tests.differential.step import DEPLOY, MERGE, NS, Step, api

_APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/main"
_SECCOMP = "container.seccomp.security.alpha.kubernetes.io/main"
_SECCOMP_OF_POD = "seccomp.security.alpha.kubernetes.io/pod"
_LOCAL = {"type": "Localhost", "localhostProfile": "a/b"}

_CASES: list[tuple[dict[str, str], dict[str, Any], dict[str, Any]]] = [
    *(
        ({_APP_ARMOR: value}, {}, {})
        for value in ("unconfined", "runtime/default", "localhost/a/b", "localhost/", "", "bogus", "docker/default")
    ),
    ({_APP_ARMOR: "unconfined"}, {"appArmorProfile": {"type": "Unconfined"}}, {}),
    ({_APP_ARMOR: "unconfined"}, {"appArmorProfile": {"type": "RuntimeDefault"}}, {}),
    ({_APP_ARMOR: "unconfined"}, {}, {"appArmorProfile": {"type": "RuntimeDefault"}}),
    ({_APP_ARMOR: "localhost/a/b"}, {"appArmorProfile": _LOCAL}, {}),
    ({_APP_ARMOR: "localhost/c"}, {}, {"appArmorProfile": _LOCAL}),
    ({_APP_ARMOR.replace("main", "other"): "unconfined"}, {}, {}),
    *(
        ({_SECCOMP: value}, {}, {})
        for value in ("unconfined", "runtime/default", "docker/default", "localhost/a", "", "bogus")
    ),
    ({_SECCOMP: "unconfined"}, {}, {"seccompProfile": {"type": "Unconfined"}}),
    ({_SECCOMP: "docker/default"}, {}, {"seccompProfile": {"type": "RuntimeDefault"}}),
    ({_SECCOMP: "unconfined"}, {}, {"seccompProfile": {"type": "RuntimeDefault"}}),
    ({_SECCOMP: "localhost/c"}, {}, {"seccompProfile": _LOCAL}),
    ({_SECCOMP_OF_POD: "unconfined"}, {}, {}),
    ({_SECCOMP_OF_POD: "unconfined"}, {"seccompProfile": {"type": "Unconfined"}}, {}),
    ({_SECCOMP_OF_POD: "unconfined"}, {"seccompProfile": {"type": "RuntimeDefault"}}, {}),
]
"""Annotations, and the security contexts of the Pod and of its container."""


def _pod(annotations: dict[str, str], of_pod: dict[str, Any], of_container: dict[str, Any]) -> dict[str, Any]:
    container = {"name": "main", "image": "x", **({"securityContext": of_container} if of_container else {})}
    spec: dict[str, Any] = {"automountServiceAccountToken": False, "containers": [container]}
    if of_pod:
        spec["securityContext"] = of_pod
    return {"metadata": {"labels": {"app": "x"}, "annotations": annotations}, "spec": spec}


def _named(pod: dict[str, Any], name: str) -> dict[str, Any]:
    return {**api("Pod", "v1", name), **pod, "metadata": {**pod["metadata"], "name": name}}


def _deployment(template: dict[str, Any]) -> dict[str, Any]:
    selector = {"matchLabels": {"app": "x"}}
    return api("Deployment", "apps/v1", "profiled", spec={"selector": selector, "template": template})


PROFILE_STEPS = [
    *(
        Step(f"profile {at} of a pod", "POST", f"{NS}/pods?dryRun=All", _named(_pod(*each), "profiled"))
        for at, each in enumerate(_CASES)
    ),
    *(
        Step(f"profile {at} of a template", "POST", f"{DEPLOY}?dryRun=All", _deployment(_pod(*each)))
        for at, each in enumerate(_CASES)
    ),
    Step("profiled pod", "POST", f"{NS}/pods", _named(_pod({_APP_ARMOR: "unconfined"}, {}, {}), "armed")),
    Step("pod without a profile", "POST", f"{NS}/pods", _named(_pod({"a": "b"}, {}, {}), "bare")),
    *(
        Step(
            f"profile of {name} becomes {value}",
            "PATCH",
            f"{NS}/pods/{name}",
            {"metadata": {"annotations": {_APP_ARMOR: value}}},
            MERGE,
        )
        for name in ("armed", "bare")
        for value in ("runtime/default", None)
    ),
]
