"""`kubectl create` and its relatives: what a person makes without a manifest."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.kubectl.kubectl import Kubectl
from tests.served import ServedPlane

NAMESPACED: dict[str, tuple[str, str]] = {
    "configmap": ("create configmap c --from-literal=a=1", "configmap/c created"),
    "secret": ("create secret generic s --from-literal=a=1", "secret/s created"),
    "registry secret": (
        "create secret docker-registry r --docker-username=u --docker-password=p",
        "secret/r created",
    ),
    "deployment": ("create deployment d --image=x --replicas=2 --port=80", "deployment.apps/d created"),
    "job": ("create job j --image=x -- true", "job.batch/j created"),
    "cronjob": ("create cronjob c --image=x --schedule=@daily", "cronjob.batch/c created"),
    "role": ("create role r --verb=get,list --resource=pods", "role.rbac.authorization.k8s.io/r created"),
    "rolebinding": (
        "create rolebinding b --clusterrole=view --user=cleo",
        "rolebinding.rbac.authorization.k8s.io/b created",
    ),
    "serviceaccount": ("create serviceaccount robot", "serviceaccount/robot created"),
    "ingress": ("create ingress i --rule=a.example/x=web:80", "ingress.networking.k8s.io/i created"),
    "service": ("create service clusterip s --tcp=80:8080", "service/s created"),
    "node port": ("create service nodeport s --tcp=80", "service/s created"),
    "load balancer": ("create service loadbalancer s --tcp=80", "service/s created"),
    "external name": ("create service externalname s --external-name=example.com", "service/s created"),
    "quota": ("create quota q --hard=pods=3", "resourcequota/q created"),
    "disruption budget": (
        "create poddisruptionbudget p --selector=app=web --min-available=1",
        "poddisruptionbudget.policy/p created",
    ),
    "pod": ("run p --image=x --port=80 --labels=app=web", "pod/p created"),
}


@pytest.mark.parametrize(("command", "said"), NAMESPACED.values(), ids=NAMESPACED)
def test_an_object_is_made_and_shown(kubectl: Kubectl, command: str, said: str) -> None:
    assert kubectl(*command.split()).strip() == said
    name = said.removesuffix(" created")
    assert kubectl("get", name, "-o", "name").strip() == name


def test_a_namespace_is_made_and_active(cluster: Kubectl, unique: str) -> None:
    assert cluster("create", "namespace", unique) == f"namespace/{unique} created\n"
    assert cluster("get", "namespace", unique, "-o", "jsonpath={.status.phase}") == "Active"


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("create clusterrole {name} --verb=get --resource=pods", "clusterrole.rbac.authorization.k8s.io"),
        (
            "create clusterrolebinding {name} --clusterrole=view --user=cleo",
            "clusterrolebinding.rbac.authorization.k8s.io",
        ),
        ("create priorityclass {name} --value=10", "priorityclass.scheduling.k8s.io"),
    ],
    ids=["clusterrole", "clusterrolebinding", "priorityclass"],
)
def test_an_object_of_the_cluster_is_made(cluster: Kubectl, unique: str, command: str, kind: str) -> None:
    assert cluster(*command.format(name=unique).split()) == f"{kind}/{unique} created\n"


def test_a_configmap_holds_the_files_it_was_made_of(kubectl: Kubectl, tmp_path: Path) -> None:
    (tmp_path / "plain.txt").write_text("first\nsecond\n")
    (tmp_path / "raw.bin").write_bytes(b"\xff\x00\xfe")
    kubectl("create", "configmap", "c", f"--from-file={tmp_path}")
    stored = msgspec.json.decode(kubectl("get", "configmap", "c", "-o", "json"))
    assert stored["data"] == {"plain.txt": "first\nsecond\n"}
    assert stored["binaryData"] == {"raw.bin": "/wD+"}


def test_a_secret_of_a_key_pair_has_its_type(kubectl: Kubectl, plane: ServedPlane) -> None:
    pki = plane.data / "pki"
    kubectl("create", "secret", "tls", "pair", f"--cert={pki / 'admin.crt'}", f"--key={pki / 'admin.key'}")
    assert kubectl("get", "secret", "pair", "-o", "jsonpath={.type}") == "kubernetes.io/tls"


def test_a_job_is_made_of_a_cronjob_and_owned_by_it(kubectl: Kubectl) -> None:
    kubectl("create", "cronjob", "nightly", "--image=x", "--schedule=0 3 * * *")
    kubectl("create", "job", "now", "--from=cronjob/nightly")
    owner = kubectl("get", "job", "now", "-o", "jsonpath={.metadata.ownerReferences[0].kind}")
    assert owner == "CronJob"


def test_a_deployment_is_exposed_and_scaled_by_load(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "web", "--image=x", "--port=80")
    assert kubectl("expose", "deployment", "web", "--port=80") == "service/web exposed\n"
    assert kubectl("autoscale", "deployment", "web", "--min=1", "--max=3") == (
        "horizontalpodautoscaler.autoscaling/web autoscaled\n"
    )
    shown = kubectl("get", "hpa", "web").splitlines()[1].split()
    assert shown[:2] == ["web", "Deployment/web"]
    assert shown[-4:-1] == ["1", "3", "0"]


def test_a_dry_run_on_the_server_stores_nothing(kubectl: Kubectl) -> None:
    made = kubectl("create", "configmap", "c", "--from-literal=a=1", "--dry-run=server", "-o", "json")
    assert msgspec.json.decode(made)["metadata"]["uid"]
    assert "NotFound" in kubectl.fails("get", "configmap", "c")


def test_a_name_is_generated_from_its_prefix(kubectl: Kubectl) -> None:
    manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: run-}\n"
    first, second = (kubectl("create", "-f", "-", "-o", "name", stdin=manifest).strip() for _ in range(2))
    assert first.startswith("configmap/run-")
    assert first != second
