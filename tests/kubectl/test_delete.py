"""`kubectl delete`: by name, file and selector, with dependents, finalizers and whole namespaces."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kubectl.kubectl import Kubectl
from tests.kubectl.manifests import CONFIG, DEPLOYMENT
from tests.served import ServedPlane

MERGE = "application/merge-patch+json"


@pytest.fixture
def owner(kubectl: Kubectl, plane: ServedPlane) -> Kubectl:
    """A ConfigMap `parent` that owns a ConfigMap `child`."""
    path = f"/api/v1/namespaces/{kubectl.namespace}/configmaps"
    parent = plane.ask("POST", path, {"metadata": {"name": "parent"}})
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "parent",
        "uid": parent["metadata"]["uid"],
        "blockOwnerDeletion": True,
    }
    plane.ask("POST", path, {"metadata": {"name": "child", "ownerReferences": [reference]}})
    return kubectl


def test_objects_go_by_file_and_by_selector(kubectl: Kubectl, tmp_path: Path) -> None:
    (tmp_path / "all.yaml").write_text(f"{CONFIG}---\n{DEPLOYMENT}")
    kubectl("create", "-f", tmp_path)
    assert kubectl("delete", "-f", tmp_path / "all.yaml").count("deleted") == 2
    kubectl("create", "-f", tmp_path)
    assert kubectl("delete", "configmaps,deployments", "-l", "app=web").count("deleted") == 2
    assert kubectl("get", "configmaps,deployments", "-l", "app=web", "-o", "name") == ""


def test_all_of_a_kind_go_at_once(kubectl: Kubectl) -> None:
    for name in ("a", "b"):
        kubectl("create", "secret", "generic", name)
    assert kubectl("delete", "secrets", "--all").count("deleted") == 2


def test_what_is_not_there_is_an_error_unless_that_is_fine(kubectl: Kubectl) -> None:
    assert "(NotFound)" in kubectl.fails("delete", "configmap", "none")
    assert kubectl("delete", "configmap", "none", "--ignore-not-found") == ""


@pytest.mark.parametrize("cascade", ["background", "foreground"])
def test_a_dependent_goes_with_its_owner(owner: Kubectl, cascade: str) -> None:
    owner("delete", "configmap", "parent", f"--cascade={cascade}", "--timeout=10s")
    owner("wait", "configmap/child", "--for=delete", "--timeout=10s")
    assert owner("get", "configmap", "child", "--ignore-not-found") == ""


def test_an_orphan_stays_without_its_owner(owner: Kubectl) -> None:
    owner("delete", "configmap", "parent", "--cascade=orphan", "--timeout=10s")
    assert owner("get", "configmap", "parent", "--ignore-not-found") == ""
    assert owner("get", "configmap", "child", "-o", "jsonpath={.metadata.ownerReferences}") == ""


def test_delete_waits_for_the_finalizers(kubectl: Kubectl, plane: ServedPlane) -> None:
    kubectl("create", "-f", "-", stdin=CONFIG.replace("labels:", "finalizers: [example.com/hold]\n  labels:"))
    deletion = kubectl.start("delete", "configmap", "settings", "--timeout=15s")
    kubectl("wait", "configmap/settings", "--for=jsonpath={.metadata.deletionTimestamp}", "--timeout=10s")
    assert deletion.poll() is None
    path = f"/api/v1/namespaces/{kubectl.namespace}/configmaps/settings"
    plane.ask("PATCH", path, {"metadata": {"finalizers": None}}, content_type=MERGE)
    said, _ = deletion.communicate(timeout=30)
    assert deletion.returncode == 0, said
    assert kubectl("get", "configmap", "settings", "--ignore-not-found") == ""


def test_delete_without_waiting_leaves_a_terminating_object(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=CONFIG.replace("labels:", "finalizers: [example.com/hold]\n  labels:"))
    kubectl("delete", "configmap", "settings", "--wait=false")
    assert kubectl("get", "configmap", "settings", "-o", "jsonpath={.metadata.deletionTimestamp}")
    kubectl("patch", "configmap", "settings", "--type=merge", "-p", '{"metadata": {"finalizers": []}}')
    assert kubectl("get", "configmap", "settings", "--ignore-not-found") == ""


def test_a_namespace_goes_with_all_that_is_in_it(cluster: Kubectl, kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=f"{CONFIG}---\n{DEPLOYMENT}")
    said = cluster("delete", "namespace", kubectl.namespace, "--timeout=20s")
    assert f'namespace "{kubectl.namespace}" deleted' in said
    assert cluster("get", "namespace", kubectl.namespace, "--ignore-not-found") == ""
    assert kubectl("get", "configmaps,deployments", "-o", "name") == ""


def test_nothing_is_made_in_a_namespace_that_is_going(cluster: Kubectl, kubectl: Kubectl) -> None:
    held = CONFIG.replace("labels:", "finalizers: [example.com/hold]\n  labels:")
    kubectl("create", "-f", "-", stdin=held)
    cluster("delete", "namespace", kubectl.namespace, "--wait=false")
    assert cluster("get", "namespace", kubectl.namespace, "-o", "jsonpath={.status.phase}") == "Terminating"
    said = kubectl.fails("create", "configmap", "late")
    assert "because it is being terminated" in said
    kubectl("patch", "configmap", "settings", "--type=merge", "-p", '{"metadata": {"finalizers": []}}')
    cluster("wait", f"namespace/{kubectl.namespace}", "--for=delete", "--timeout=20s")


def test_a_pod_that_runs_nowhere_goes_at_once(kubectl: Kubectl) -> None:
    kubectl("run", "p", "--image=x")
    assert "deleted" in kubectl("delete", "pod", "p", "--timeout=10s")
    assert kubectl("get", "pod", "p", "--ignore-not-found") == ""
