"""Commands that change one thing of an object: label, annotate, scale, set, patch, rollout."""

from __future__ import annotations

import subprocess

import msgspec
import pytest

from tests.kubectl.kubectl import Kubectl
from tests.kubectl.manifests import DEPLOYMENT
from tests.served import ServedPlane

STATUS_MERGE = "application/merge-patch+json"


@pytest.fixture
def web(kubectl: Kubectl, plane: ServedPlane) -> Kubectl:
    kubectl("create", "-f", "-", stdin=DEPLOYMENT)
    return kubectl


def shown(kubectl: Kubectl, path: str) -> str:
    return kubectl("get", "deployment", "web", "-o", f"jsonpath={{{path}}}")


def test_labels_are_set_kept_and_removed(web: Kubectl) -> None:
    assert web("label", "deployment", "web", "tier=front") == "deployment.apps/web labeled\n"
    assert "--overwrite is false" in web.fails("label", "deployment", "web", "tier=back")
    web("label", "deployment", "web", "tier=back", "--overwrite")
    assert shown(web, ".metadata.labels.tier") == "back"
    assert web("label", "deployment", "web", "tier-") == "deployment.apps/web unlabeled\n"
    assert shown(web, ".metadata.labels") == '{"app":"web"}'


def test_annotations_are_set_on_all_that_a_selector_finds(web: Kubectl) -> None:
    assert web("annotate", "deployments", "-l", "app=web", "owner=team-a") == "deployment.apps/web annotated\n"
    assert shown(web, ".metadata.annotations.owner") == "team-a"
    # Kubernetes counts changes of a Deployment's annotations too.
    assert shown(web, ".metadata.generation") == "2"


def test_scale_changes_replicas_if_the_current_count_is_as_given(web: Kubectl) -> None:
    assert web("scale", "deployment", "web", "--replicas=5") == "deployment.apps/web scaled\n"
    assert shown(web, ".spec.replicas") == "5"
    assert "Expected replicas to be 2" in web.fails(
        "scale", "deployment", "web", "--current-replicas=2", "--replicas=3"
    )
    assert shown(web, ".spec.replicas") == "5"


def test_set_changes_image_environment_resources_and_account(web: Kubectl) -> None:
    assert web("set", "image", "deployment/web", "web=example.com/web:2.0") == "deployment.apps/web image updated\n"
    web("set", "env", "deployment/web", "MODE=slow", "LEVEL-")
    web("set", "resources", "deployment/web", "--limits=cpu=200m,memory=64Mi")
    web("set", "serviceaccount", "deployment", "web", "robot")
    container = msgspec.json.decode(shown(web, ".spec.template.spec.containers[0]"))
    assert container["image"] == "example.com/web:2.0"
    assert container["env"] == [{"name": "MODE", "value": "slow"}]
    assert container["resources"] == {"limits": {"cpu": "200m", "memory": "64Mi"}}
    assert shown(web, ".spec.template.spec.serviceAccountName") == "robot"
    assert shown(web, ".metadata.generation") == "5"


@pytest.mark.parametrize(
    ("flags", "patch"),
    [
        ((), '{"spec": {"replicas": 7}}'),
        (("--type=merge",), '{"spec": {"replicas": 7}}'),
        (("--type=json",), '[{"op": "replace", "path": "/spec/replicas", "value": 7}]'),
        (("--subresource=scale", "--type=merge"), '{"spec": {"replicas": 7}}'),
    ],
    ids=["strategic", "merge", "json", "scale"],
)
def test_a_patch_of_each_type_is_applied(web: Kubectl, flags: tuple[str, ...], patch: str) -> None:
    assert "patched" in web("patch", "deployment", "web", *flags, "-p", patch)
    assert shown(web, ".spec.replicas") == "7"


def test_a_patch_that_changes_nothing_says_so(web: Kubectl) -> None:
    said = web("patch", "deployment", "web", "-p", '{"spec": {"replicas": 2}}')
    assert said == "deployment.apps/web patched (no change)\n"


def test_a_json_patch_whose_test_fails_is_refused(web: Kubectl) -> None:
    patch = '[{"op": "test", "path": "/spec/replicas", "value": 9}, {"op": "remove", "path": "/spec/replicas"}]'
    web.fails("patch", "deployment", "web", "--type=json", "-p", patch)
    assert shown(web, ".spec.replicas") == "2"


def test_the_status_is_patched_apart_from_the_rest(web: Kubectl) -> None:
    patch = '{"status": {"replicas": 2}, "spec": {"replicas": 9}}'
    web("patch", "deployment", "web", "--subresource=status", "--type=merge", "-p", patch)
    assert shown(web, ".spec.replicas") == "2"
    assert shown(web, ".status.replicas") == "2"


def test_a_rollout_is_awaited_paused_and_restarted(web: Kubectl, plane: ServedPlane) -> None:
    assert web("rollout", "pause", "deployment/web") == "deployment.apps/web paused\n"
    assert web("rollout", "resume", "deployment/web") == "deployment.apps/web resumed\n"
    assert web("rollout", "restart", "deployment/web") == "deployment.apps/web restarted\n"
    rollout = web.start("rollout", "status", "deployment/web", "--timeout=10s")
    done = {"observedGeneration": 4, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2}
    path = f"/apis/apps/v1/namespaces/{web.namespace}/deployments/web/status"
    plane.ask("PATCH", path, {"status": done}, content_type=STATUS_MERGE)
    said, _ = rollout.communicate(timeout=30)
    assert rollout.returncode == 0, said
    assert 'deployment "web" successfully rolled out' in said


def test_a_rollout_that_does_not_come_is_given_up(web: Kubectl) -> None:
    done = web.run("rollout", "status", "deployment/web", "--timeout=1s")
    assert done.code == 1
    assert "timed out" in done.err


def test_wait_ends_when_the_condition_holds(web: Kubectl, plane: ServedPlane) -> None:
    path = f"/apis/apps/v1/namespaces/{web.namespace}/deployments/web/status"
    waits = [
        web.start("wait", "deployment/web", "--timeout=10s", f"--for={state}")
        for state in ("condition=Available", "jsonpath={.status.readyReplicas}=2")
    ]
    status = {"readyReplicas": 2, "replicas": 2, "conditions": [{"type": "Available", "status": "True"}]}
    plane.ask("PATCH", path, {"status": status}, content_type=STATUS_MERGE)
    assert [_told(wait) for wait in waits] == ["deployment.apps/web condition met\n"] * 2


def test_wait_ends_when_the_object_is_made(kubectl: Kubectl) -> None:
    wait = kubectl.start("wait", "configmap/later", "--for=create", "--timeout=10s")
    kubectl("create", "configmap", "later")
    assert _told(wait) == "configmap/later condition met\n"


def test_a_node_is_cordoned_tainted_and_drained(cluster: Kubectl, unique: str) -> None:
    cluster("create", "-f", "-", stdin=f"apiVersion: v1\nkind: Node\nmetadata: {{name: {unique}}}\n")
    assert cluster("cordon", unique) == f"node/{unique} cordoned\n"
    assert cluster("taint", "node", unique, "a=b:NoSchedule") == f"node/{unique} tainted\n"
    assert f"node/{unique} drained" in cluster("drain", unique, "--force", "--timeout=10s")
    assert "SchedulingDisabled" in cluster("get", "node", unique)
    assert cluster("uncordon", unique) == f"node/{unique} uncordoned\n"


def test_wait_ends_with_an_error_when_the_time_is_over(web: Kubectl) -> None:
    said = web.fails("wait", "deployment/web", "--for=condition=Available", "--timeout=1s")
    assert "timed out waiting for the condition on deployments/web" in said


def _told(process: subprocess.Popen[str]) -> str:
    said, _ = process.communicate(timeout=30)
    assert process.returncode == 0, said
    return said
