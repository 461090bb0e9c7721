"""kube-controller-manager and kube-scheduler do their work on a plane whose own housekeeping is off."""

from __future__ import annotations

import base64
import http.client
import json
import re
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from homeostat.objects.json import JsonObject
from tests.programs.running import find, run_controllers, run_scheduler, wait_until
from tests.served import ServedPlane, serve_plane
from tools.build_programs import find_program

MERGE = "application/merge-patch+json"
SPEC: JsonObject = {"containers": [{"name": "app", "image": "app:1", "resources": {"requests": {"cpu": "10m"}}}]}
_FAILURE = re.compile(
    r"^E(?!.*metrics API).*"
    r"(failed to (list|watch)|not find the requested resource|Internal Server Error|forbidden: User ).*",
    re.MULTILINE,
)


class World:
    def __init__(self, plane: ServedPlane, logs: list[Path]) -> None:
        self.plane, self.logs, self.ask = plane, logs, plane.ask
        self.name = plane.create_namespace(f"t{uuid4().hex[:8]}")

    def core(self, plural: str, name: str = "") -> str:
        return f"/api/v1/namespaces/{self.name}/{plural}{name and f'/{name}'}"

    def group(self, version: str, plural: str, name: str = "") -> str:
        return f"/apis/{version}/namespaces/{self.name}/{plural}{name and f'/{name}'}"

    def find(self, path: str) -> Any:
        return find(self.plane, path)

    def wait(self, path: str, *members: str, within_s: float = 60.0) -> Any:
        """The value of a member of a member, once it is there."""

        def read() -> object:
            found = self.find(path)
            for member in members:
                found = (found or {}).get(member)
            return found

        return wait_until(read, f"{path} has {'.'.join(members)}", within_s)

    def user_of(self, token: str) -> str:
        """Whom the plane takes the bearer of a token for; nobody if it refuses the token."""
        context = ssl.create_default_context(cafile=self.plane.data / "pki" / "ca.crt")
        connection = http.client.HTTPSConnection("127.0.0.1", self.plane.port, context=context, timeout=30)
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        try:
            connection.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", b"{}", headers)
            answer = connection.getresponse()
            read = answer.read()
        finally:
            connection.close()
        assert answer.status in (201, 401), read
        return str(json.loads(read)["status"]["userInfo"]["username"]) if answer.status == 201 else ""

    def wait_gone(self, path: str) -> None:
        wait_until(lambda: self.find(path) is None, f"{path} is gone")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServedPlane, list[Path]]]:
    find_program("controller-manager"), find_program("scheduler")
    folder = tmp_path_factory.mktemp("controllers")
    options = ["--operators", "none", "--workloads", "nodes"]
    with (
        serve_plane(folder / "data", options=options) as plane,
        run_controllers(plane, folder, "--horizontal-pod-autoscaler-sync-period=1s") as controllers,
        run_scheduler(plane, folder) as scheduler,
    ):
        yield plane, [controllers, scheduler]


@pytest.fixture
def world(served: tuple[ServedPlane, list[Path]]) -> World:
    return World(*served)


def test_a_namespace_gets_an_account_and_goes_with_all_that_is_in_it(world: World) -> None:
    world.wait(world.core("serviceaccounts", "default"), "metadata")
    trusted = world.wait(world.core("configmaps", "kube-root-ca.crt"), "data", "ca.crt")
    assert trusted == (world.plane.data / "pki" / "ca.crt").read_text()
    world.ask("POST", world.core("configmaps"), {"metadata": {"name": "kept", "finalizers": ["example.com/wait"]}})
    world.ask("DELETE", f"/api/v1/namespaces/{world.name}")

    def remains() -> bool:
        conditions = world.find(f"/api/v1/namespaces/{world.name}")["status"].get("conditions", ())
        return any(each["type"] == "NamespaceFinalizersRemaining" and each["status"] == "True" for each in conditions)

    wait_until(remains, "the namespace says what it waits for")
    world.ask("PATCH", world.core("configmaps", "kept"), {"metadata": {"finalizers": None}}, content_type=MERGE)
    world.wait_gone(f"/api/v1/namespaces/{world.name}")


def owned(name: str, owner: JsonObject, *, blocks: bool = False) -> JsonObject:
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": owner["name"], "uid": owner["uid"]}
    return {"metadata": {"name": name, "ownerReferences": [{**reference, "blockOwnerDeletion": blocks}]}}


def test_dependents_are_collected_in_the_background_in_the_foreground_or_orphaned(world: World) -> None:
    maps = world.core("configmaps")
    owners = {each: world.ask("POST", maps, {"metadata": {"name": each}})["metadata"] for each in ("a", "b", "c")}
    for name, owner in owners.items():
        world.ask("POST", maps, owned(f"{name}-part", owner, blocks=True))
    world.ask("DELETE", f"{maps}/a", {"propagationPolicy": "Background"})
    world.ask("DELETE", f"{maps}/b", {"propagationPolicy": "Foreground"})
    world.ask("DELETE", f"{maps}/c", {"propagationPolicy": "Orphan"})
    for name in ("a", "b", "c", "a-part", "b-part"):
        world.wait_gone(f"{maps}/{name}")
    assert "ownerReferences" not in world.find(f"{maps}/c-part")["metadata"]


def test_a_secret_for_a_service_account_gets_a_token_that_is_valid_until_the_secret_goes(world: World) -> None:
    world.wait(world.core("serviceaccounts", "default"), "metadata")
    annotations = {"kubernetes.io/service-account.name": "default"}
    secret = {"metadata": {"name": "token", "annotations": annotations}, "type": "kubernetes.io/service-account-token"}
    world.ask("POST", world.core("secrets"), secret)
    token = base64.b64decode(world.wait(world.core("secrets", "token"), "data", "token")).decode()
    claims = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
    assert claims["sub"] == f"system:serviceaccount:{world.name}:default"
    assert world.user_of(token) == claims["sub"]
    world.ask("DELETE", world.core("secrets", "token"))
    assert world.user_of(token) == ""


def test_a_claim_is_bound_to_the_volume_that_fits(world: World) -> None:
    volume = f"small-{world.name}"
    size, modes = {"storage": "1Gi"}, ["ReadWriteOnce"]
    spec = {"capacity": size, "accessModes": modes, "hostPath": {"path": "/x"}, "storageClassName": world.name}
    world.ask("POST", "/api/v1/persistentvolumes", {"metadata": {"name": volume}, "spec": spec})
    claim = {"accessModes": modes, "resources": {"requests": size}, "storageClassName": world.name}
    world.ask("POST", world.core("persistentvolumeclaims"), {"metadata": {"name": "data"}, "spec": claim})
    path = world.core("persistentvolumeclaims", "data")
    wait_until(lambda: world.wait(path, "status", "phase") == "Bound", "the claim is bound")
    assert world.find(path)["spec"]["volumeName"] == volume
    assert world.find(path)["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    world.ask("DELETE", path)
    world.wait_gone(path)
    found = f"/api/v1/persistentvolumes/{volume}"
    wait_until(lambda: world.find(found)["status"]["phase"] == "Released", "the volume is released")


def test_a_quota_is_counted_and_an_autoscaler_says_what_it_lacks(world: World) -> None:
    world.ask("POST", world.core("configmaps"), {"metadata": {"name": "one"}})
    quota = {"metadata": {"name": "few"}, "spec": {"hard": {"count/secrets": "1", "pods": "1"}}}
    world.ask("POST", world.core("resourcequotas"), quota)
    assert world.wait(world.core("resourcequotas", "few"), "status", "used") == {"count/secrets": "0", "pods": "0"}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": SPEC}
    deployment = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    deployments = world.group("apps/v1", "deployments")
    world.ask("POST", deployments, {"metadata": {"name": "web"}, "spec": deployment})
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    scaler = {"metadata": {"name": "web"}, "spec": {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 3}}
    world.ask("POST", world.group("autoscaling/v2", "horizontalpodautoscalers"), scaler)

    def reasons(path: str) -> dict[str, str]:
        conditions = (world.find(path).get("status") or {}).get("conditions") or ()
        return {each["type"]: f"{each['status']} {each['reason']}" for each in conditions}

    wait_until(
        lambda: reasons(f"{deployments}/web").get("ReplicaFailure") == "True FailedCreate", "the quota refuses a Pod"
    )
    scaled = world.group("autoscaling/v2", "horizontalpodautoscalers", "web")
    expected = {"AbleToScale": "True SucceededGetScale", "ScalingActive": "False FailedGetResourceMetric"}
    wait_until(lambda: reasons(scaled) == expected, f"the autoscaler: {expected}")


def test_pods_are_bound_where_they_fit_and_nodes_are_tainted(world: World) -> None:
    pods = world.core("pods")
    world.ask("POST", pods, {"metadata": {"name": "fits"}, "spec": SPEC})
    world.ask("POST", pods, {"metadata": {"name": "picky"}, "spec": {**SPEC, "nodeSelector": {"disk": world.name}}})
    assert world.wait(f"{pods}/fits", "spec", "nodeName").startswith("node-")
    wait_until(lambda: world.find(f"{pods}/fits")["status"]["phase"] == "Running", "the bound Pod runs")

    def scheduled() -> JsonObject:
        conditions = (world.find(f"{pods}/picky").get("status") or {}).get("conditions") or ()
        return next((each for each in conditions if each["type"] == "PodScheduled"), {})

    wait_until(lambda: scheduled().get("reason") == "Unschedulable", "the other Pod is unschedulable")
    assert "didn't match Pod's node affinity/selector" in scheduled()["message"]
    labels = {"metadata": {"labels": {"disk": world.name}}, "spec": {"unschedulable": False}}
    world.ask("PATCH", "/api/v1/nodes/node-2", labels, content_type=MERGE)
    assert world.wait(f"{pods}/picky", "spec", "nodeName") == "node-2"
    world.ask("PATCH", "/api/v1/nodes/node-3", {"spec": {"unschedulable": True}}, content_type=MERGE)
    [taint] = world.wait("/api/v1/nodes/node-3", "spec", "taints")
    assert (taint["key"], taint["effect"]) == ("node.kubernetes.io/unschedulable", "NoSchedule")
    world.ask("PATCH", "/api/v1/nodes/node-3", {"spec": {"unschedulable": None}}, content_type=MERGE)
    wait_until(lambda: "taints" not in world.find("/api/v1/nodes/node-3")["spec"], "the taint goes")


def test_a_finished_job_goes_after_its_time_and_a_policy_is_checked(world: World) -> None:
    job = {"ttlSecondsAfterFinished": 0, "template": {"spec": {**SPEC, "restartPolicy": "Never"}}}
    world.ask("POST", world.group("batch/v1", "jobs"), {"metadata": {"name": "brief"}, "spec": job})
    world.wait_gone(world.group("batch/v1", "jobs", "brief"))
    events = world.ask("GET", world.core("events"))["items"]
    assert {"SuccessfulCreate", "Completed", "Scheduled"} <= {each["reason"] for each in events}
    wait_until(lambda: not world.ask("GET", world.core("pods"))["items"], "its Pod is collected")


def test_both_lead_and_nothing_failed_between_them_and_the_plane(world: World) -> None:
    for name in ("kube-controller-manager", "kube-scheduler"):
        lease = world.find(f"/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/{name}")
        assert lease["spec"]["holderIdentity"]
    for log in world.logs:
        failures = [match[0] for match in _FAILURE.finditer(log.read_text())]
        assert not failures, json.dumps(failures, indent=1)
