"""What kubectl says when the server says no: message and exit code."""

from __future__ import annotations

import pytest

from tests.kubectl.kubectl import Kubectl
from tests.kubectl.manifests import CONFIG, DEPLOYMENT

REFUSED: dict[str, tuple[str, str]] = {
    "unknown field": (
        CONFIG.replace("\ndata:", "\ndat:"),
        'strict decoding error: unknown field "dat"',
    ),
    "unknown field within": (
        DEPLOYMENT.replace("image:", "picture:"),
        'unknown field "spec.template.spec.containers[0].picture"',
    ),
    "wrong type": (DEPLOYMENT.replace("replicas: 2", "replicas: two"), "spec.replicas"),
    "missing field": (
        DEPLOYMENT.replace("        image: example.com/web:1.0\n", "        imagePullPolicy: Always\n"),
        "spec.template.spec.containers[0].image: Required value",
    ),
    "selector that misses its pods": (
        DEPLOYMENT.replace("matchLabels: {app: web}", "matchLabels: {app: other}"),
        "`selector` does not match template `labels`",
    ),
    "bad name": (CONFIG.replace("name: settings", "name: Set_tings"), "a lowercase RFC 1123 subdomain"),
    "bad label": (CONFIG.replace("app: web", "app: 'a b'"), "metadata.labels: Invalid value"),
    "unknown kind": (CONFIG.replace("ConfigMap", "Konfig"), 'no matches for kind "Konfig" in version "v1"'),
}


@pytest.mark.parametrize(("manifest", "said"), REFUSED.values(), ids=REFUSED)
def test_a_bad_manifest_is_refused_with_its_reason(kubectl: Kubectl, manifest: str, said: str) -> None:
    assert said in kubectl.fails("apply", "-f", "-", stdin=manifest)
    assert said in kubectl.fails("create", "-f", "-", stdin=manifest)


def test_validation_can_warn_or_be_silent(kubectl: Kubectl) -> None:
    manifest = f"{CONFIG}dat: {{}}\n"
    warned = kubectl.run("apply", "--validate=warn", "-f", "-", stdin=manifest)
    assert warned.code == 0
    assert 'Warning: unknown field "dat"' in warned.err
    silent = kubectl.run("apply", "--validate=ignore", "-f", "-", stdin=manifest)
    assert (silent.code, silent.err) == (0, "")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("get configmap none", 'Error from server (NotFound): configmaps "none" not found'),
        ("get nonsense", 'error: the server doesn\'t have a resource type "nonsense"'),
        ("create configmap settings", 'configmaps "settings" already exists'),
        ("get configmaps --field-selector=data.mode=fast", "field label not supported"),
        ("get --raw /apis/none", "Error from server (NotFound)"),
        ("create deployment d --image=x -n none", 'namespaces "none" not found'),
        ("get pods --server=https://127.0.0.1:1", "refused"),
        ("get pods --as=nobody", 'pods is forbidden: User "nobody" cannot list resource "pods" in API group ""'),
    ],
    ids=["object", "kind", "exists", "field selector", "path", "namespace", "nobody listens", "forbidden"],
)
def test_an_error_is_reported_as_kubernetes_reports_it(kubectl: Kubectl, command: str, said: str) -> None:
    kubectl("create", "-f", "-", stdin=CONFIG)
    assert said in kubectl.fails(*command.split())


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("logs p", "no container runs on this plane, so its Pods have no log"),
        ("exec p -- ls", "no container runs on this plane, so its Pods have no exec"),
        ("top pods", "Metrics API not available"),
    ],
    ids=["logs", "exec", "top"],
)
def test_what_needs_a_node_is_refused_in_words(kubectl: Kubectl, command: str, said: str) -> None:
    kubectl("run", "p", "--image=x")
    assert said in kubectl.fails(*command.split())


def test_an_old_revision_cannot_replace_a_newer_object(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=CONFIG)
    old = kubectl("get", "configmap", "settings", "-o", "yaml")
    kubectl("label", "configmap", "settings", "a=b")
    said = kubectl.fails("replace", "-f", "-", stdin=old)
    assert "(Conflict)" in said
    assert "the object has been modified" in said


def test_a_field_that_may_not_change_is_named(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=DEPLOYMENT)
    said = kubectl.fails("apply", "-f", "-", stdin=DEPLOYMENT.replace("app: web", "app: other"))
    assert "spec.selector: Invalid value" in said
    assert "field is immutable" in said


def test_an_immutable_configmap_stays_as_it_is(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=f"{CONFIG}immutable: true\n")
    said = kubectl.fails("patch", "configmap", "settings", "-p", '{"data": {"mode": "slow"}}')
    assert "field is immutable when `immutable` is set" in said
