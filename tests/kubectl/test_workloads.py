"""Simulated workloads, as kubectl shows them and waits for them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from homeostat.objects.json import JsonObject
from homeostat.testing.workloads import Workloads
from tests.kubectl.kubectl import Kubectl
from tools.build_kubectl import find_kubectl

CONTAINER = "{name: app, image: 'app:1', ports: [{name: web, containerPort: 8080}]}"
STATEFUL = f"""
apiVersion: v1
kind: Service
metadata: {{name: db}}
spec: {{clusterIP: None, selector: {{app: db}}, ports: [{{port: 80, targetPort: web}}]}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {{name: db}}
spec:
  replicas: 3
  serviceName: db
  selector: {{matchLabels: {{app: db}}}}
  template: {{metadata: {{labels: {{app: db}}}}, spec: {{containers: [{CONTAINER}]}}}}
  volumeClaimTemplates:
  - metadata: {{name: data}}
    spec: {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}}}
"""
DAEMON = f"""
apiVersion: apps/v1
kind: DaemonSet
metadata: {{name: agent}}
spec:
  selector: {{matchLabels: {{app: agent}}}}
  template: {{metadata: {{labels: {{app: agent}}}}, spec: {{containers: [{CONTAINER}]}}}}
"""
JOBS = f"""
apiVersion: batch/v1
kind: Job
metadata: {{name: good}}
spec:
  completions: 3
  parallelism: 2
  completionMode: Indexed
  template: {{spec: {{restartPolicy: Never, containers: [{CONTAINER}]}}}}
---
apiVersion: batch/v1
kind: Job
metadata: {{name: bad}}
spec:
  backoffLimit: 1
  template:
    metadata: {{annotations: {{simulation.homeostat.dev/outcome: fail, simulation.homeostat.dev/back-off: 1ms}}}}
    spec: {{restartPolicy: Never, containers: [{CONTAINER}]}}
"""
WAIT = "--timeout=25s"


@pytest.fixture
def kubectl(kubernetes_workloads: Workloads, tmp_path: Path) -> Kubectl:
    return Kubectl(find_kubectl(), tmp_path, kubernetes_workloads.kubeconfig)


def items(kubectl: Kubectl, *arguments: str) -> list[JsonObject]:
    found: list[JsonObject] = json.loads(kubectl("get", *arguments, "-o", "json"))["items"]
    return found


def images(kubectl: Kubectl, label: str) -> set[str]:
    return {each["spec"]["containers"][0]["image"] for each in items(kubectl, "pods", "-l", label)}


def test_a_deployment_is_rolled_out_scaled_and_rolled_back(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "web", "--image=app:1", "--replicas=3")
    assert "successfully rolled out" in kubectl("rollout", "status", "deploy/web", WAIT)
    kubectl("set", "image", "deploy/web", "app=app:2")
    kubectl("rollout", "status", "deploy/web", WAIT)
    assert images(kubectl, "app=web") == {"app:2"}
    kubectl("rollout", "undo", "deploy/web")
    kubectl("scale", "deploy/web", "--replicas=5")
    kubectl("rollout", "status", "deploy/web", WAIT)
    kubectl("wait", "--for=condition=Available", "deploy/web", WAIT)
    assert images(kubectl, "app=web") == {"app:1"}
    assert [line.split()[0] for line in kubectl("rollout", "history", "deploy/web").splitlines()[2:4]] == ["2", "3"]
    (deployment,) = items(kubectl, "deploy")
    status = deployment["status"]
    assert status["observedGeneration"] == deployment["metadata"]["generation"]
    assert [status[name] for name in ("replicas", "updatedReplicas", "availableReplicas")] == [5, 5, 5]
    assert {each["reason"] for each in status["conditions"]} == {"MinimumReplicasAvailable", "NewReplicaSetAvailable"}
    (first, *_) = items(kubectl, "pods")
    owner = first["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["controller"], owner["blockOwnerDeletion"]) == ("ReplicaSet", True, True)
    assert first["metadata"]["name"].startswith(f"{owner['name']}-")
    described = kubectl("describe", "pod", first["metadata"]["name"])
    for reason in ("Scheduled", "Pulled", "Created", "Started"):
        assert reason in described


def test_a_quota_holds_a_deployment_back_until_it_goes(kubectl: Kubectl) -> None:
    kubectl("create", "quota", "few", "--hard=pods=2")
    kubectl("create", "deployment", "web", "--image=app:1", "--replicas=4")
    kubectl("wait", "--for=condition=ReplicaFailure", "deploy/web", WAIT)
    (deployment,) = items(kubectl, "deploy")
    assert deployment["status"]["replicas"] == 2
    # With a back-off, a few attempts: without one there would be hundreds.
    assert len([each for each in items(kubectl, "events") if each["reason"] == "FailedCreate"]) < 20
    kubectl("delete", "quota", "few")
    kubectl("rollout", "status", "deploy/web", WAIT)


def test_a_stateful_set_is_created_in_order_with_claims_and_endpoints(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=STATEFUL)
    kubectl("rollout", "status", "sts/db", WAIT)
    pods = items(kubectl, "pods")
    assert [each["metadata"]["name"] for each in pods] == ["db-0", "db-1", "db-2"]
    revisions = [int(each["metadata"]["resourceVersion"]) for each in pods]
    assert revisions == sorted(revisions)
    assert {each["status"]["phase"] for each in items(kubectl, "pvc")} == {"Bound"}
    kubectl("wait", "--for=jsonpath={.endpoints[2].conditions.ready}=true", "endpointslice", "--all", WAIT)
    (found,) = items(kubectl, "endpointslices")
    assert found["ports"][0]["port"] == 8080
    assert [each["hostname"] for each in found["endpoints"]] == ["db-0", "db-1", "db-2"]
    kubectl("set", "image", "sts/db", "app=app:2")
    kubectl("rollout", "status", "sts/db", WAIT)
    assert images(kubectl, "app=db") == {"app:2"}
    kubectl("rollout", "undo", "sts/db")
    kubectl("rollout", "status", "sts/db", WAIT)
    assert images(kubectl, "app=db") == {"app:1"}


def test_a_daemon_set_runs_on_every_node(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=DAEMON)
    kubectl("rollout", "status", "ds/agent", WAIT)
    nodes = {each["metadata"]["name"] for each in items(kubectl, "nodes")}
    assert {each["spec"]["nodeName"] for each in items(kubectl, "pods")} == nodes == {"node-1", "node-2", "node-3"}
    kubectl("set", "image", "ds/agent", "app=app:2")
    kubectl("rollout", "status", "ds/agent", WAIT)
    assert images(kubectl, "app=agent") == {"app:2"}


def test_jobs_complete_and_fail(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=JOBS)
    kubectl("wait", "--for=condition=Complete", "job/good", WAIT)
    kubectl("wait", "--for=condition=Failed", "job/bad", WAIT)
    good, bad = (json.loads(kubectl("get", "job", name, "-o", "json"))["status"] for name in ("good", "bad"))
    assert (good["succeeded"], good["completedIndexes"]) == (3, "0-2")
    assert bad["failed"] == 2
    assert {each["reason"] for each in bad["conditions"]} == {"BackoffLimitExceeded"}


def test_pods_fail_as_a_rule_says_and_recover(kubectl: Kubectl, kubernetes_workloads: Workloads) -> None:
    kubernetes_workloads.set_outcome("crash-loop", selector="app=web", exit_code=42)
    kubectl("create", "deployment", "web", "--image=app:1")
    kubectl(
        "wait",
        "pod",
        "-l",
        "app=web",
        "--for=jsonpath={.status.containerStatuses[0].state.waiting.reason}=CrashLoopBackOff",
        WAIT,
    )
    (pod,) = items(kubectl, "pods")
    assert pod["status"]["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 42
    kubernetes_workloads.clear_outcomes()
    kubectl("rollout", "status", "deploy/web", WAIT)


def test_a_pod_of_its_own_is_scheduled_or_says_why_not(kubectl: Kubectl) -> None:
    kubectl("run", "plain", "--image=app:1")
    kubectl("wait", "pod/plain", "--for=condition=Ready", WAIT)
    overrides = json.dumps({"spec": {"nodeSelector": {"disk": "ssd"}}})
    kubectl("run", "picky", "--image=app:1", f"--overrides={overrides}")
    kubectl("wait", "pod/picky", "--for=jsonpath={.status.conditions[0].reason}=Unschedulable", WAIT)
    message = kubectl("get", "pod", "picky", "-o", "jsonpath={.status.conditions[0].message}")
    assert message.startswith("0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.")
    kubectl("delete", "pod", "plain", "picky", "--wait=true")


def test_a_daemon_that_fits_on_no_node_waits(kubectl: Kubectl) -> None:
    greedy = DAEMON.replace("image: 'app:1'", "image: 'app:1', resources: {requests: {cpu: 640}}")
    kubectl("apply", "-f", "-", stdin=greedy)
    kubectl("wait", "ds/agent", "--for=jsonpath={.status.currentNumberScheduled}=3", WAIT)
    reason = "--for=jsonpath={.status.conditions[?(@.type=='PodScheduled')].reason}=Unschedulable"
    kubectl("wait", "pod", "-l", "app=agent", reason, WAIT)
    first = {each["metadata"]["uid"] for each in items(kubectl, "pods")}
    kubectl("annotate", "ds/agent", "note=again")
    kubectl("create", "deployment", "web", "--image=app:1")
    kubectl("rollout", "status", "deploy/web", WAIT)
    assert {each["metadata"]["uid"] for each in items(kubectl, "pods", "-l", "app=agent")} == first


def test_a_refused_replica_set_shows_and_is_tried_again(kubectl: Kubectl) -> None:
    kubectl("create", "quota", "none", "--hard=count/replicasets.apps=0")
    kubectl("create", "deployment", "web", "--image=app:1")
    kubectl("wait", "deploy/web", "--for=condition=Progressing=False", WAIT)
    shown = kubectl("describe", "deploy/web")
    assert "ReplicaSetCreateError" in shown
    assert "exceeded quota" in kubectl("events", "--for=deployment/web")
    kubectl("delete", "quota", "none")
    kubectl("rollout", "status", "deploy/web", WAIT)


def test_a_stateful_set_that_comes_back_adopts_its_pods_and_revisions_alone(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=STATEFUL)
    kubectl("rollout", "status", "sts/db", WAIT)
    before = {each["metadata"]["uid"] for each in items(kubectl, "pods")}
    kubectl("delete", "sts/db", "--cascade=orphan")
    kubectl("run", "guest", "--image=app:1", "--labels=app=db")
    kubectl("apply", "-f", "-", stdin=STATEFUL)
    kubectl("wait", "sts/db", "--for=jsonpath={.status.readyReplicas}=3", WAIT)
    (owner,) = items(kubectl, "sts")
    (revision,) = items(kubectl, "controllerrevisions")
    assert revision["metadata"]["ownerReferences"][0]["uid"] == owner["metadata"]["uid"]
    pods = {each["metadata"]["name"]: each["metadata"] for each in items(kubectl, "pods")}
    assert "ownerReferences" not in pods.pop("guest")
    assert {each["uid"] for each in pods.values()} == before


VOLUME = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: ""
  volumeName: kept-volume
  resources: {requests: {storage: 1Gi}}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: kept-volume}
spec:
  accessModes: [ReadWriteOnce]
  capacity: {storage: 5Gi}
  hostPath: {path: /kept}
  persistentVolumeReclaimPolicy: Retain
"""


def test_a_claim_waits_for_the_volume_that_it_names_and_leaves_it_behind(kubectl: Kubectl) -> None:
    claim, volume = VOLUME.split("---")
    kubectl("apply", "-f", "-", stdin=claim)
    kubectl("create", "deployment", "web", "--image=app:1")
    kubectl("rollout", "status", "deploy/web", WAIT)
    assert "kept-volume" not in kubectl("get", "pv", "-o", "name")
    kubectl("apply", "-f", "-", stdin=volume)
    try:
        kubectl("wait", "pvc/data", "--for=jsonpath={.status.phase}=Bound", WAIT)
        assert kubectl("get", "pvc", "data", "-o", "jsonpath={.status.capacity.storage}") == "5Gi"
        kubectl("wait", "pv/kept-volume", "--for=jsonpath={.status.phase}=Bound", WAIT)
        kubectl("delete", "pvc/data")
        kubectl("wait", "pv/kept-volume", "--for=jsonpath={.status.phase}=Released", WAIT)
    finally:
        kubectl("delete", "pv", "kept-volume")


def test_a_revision_of_somebody_else_with_the_name_of_ours_is_not_changed(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=STATEFUL)
    kubectl("apply", "-f", "-", stdin=DAEMON)
    kubectl("rollout", "status", "sts/db", WAIT)
    kubectl("rollout", "status", "ds/agent", WAIT)
    names = [each["metadata"]["name"] for each in items(kubectl, "controllerrevisions")]
    kubectl("delete", "sts,ds", "--all", "--cascade=foreground")
    for name in names:
        other = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": name}}
        kubectl("create", "-f", "-", stdin=json.dumps({**other, "data": {"of": "others"}, "revision": 1}))
    kubectl("apply", "-f", "-", stdin=STATEFUL)
    kubectl("apply", "-f", "-", stdin=DAEMON)
    for each in ("sts/db", "ds/agent"):
        kubectl("rollout", "status", each, WAIT)
        assert kubectl("get", each, "-o", "jsonpath={.status.collisionCount}") == "1"
    assert len(items(kubectl, "controllerrevisions")) == 4


def test_top_shows_what_annotations_say(kubectl: Kubectl) -> None:
    kubectl("run", "busy", "--image=nginx", "--annotations=simulation.homeostat.dev/use=cpu=120m,memory=64Mi")
    kubectl("wait", "--for=condition=Ready", "pod/busy", WAIT)
    assert kubectl("top", "pods").split() == ["NAME", "CPU(cores)", "MEMORY(bytes)", "busy", "120m", "64Mi"]
    node = kubectl("get", "pod", "busy", "-o", "jsonpath={.spec.nodeName}")
    used = {line.split()[0]: line.split()[1] for line in kubectl("top", "nodes").splitlines()[1:]}
    assert used.keys() == {"node-1", "node-2", "node-3"}
    assert int(used[node].removesuffix("m")) >= 120
