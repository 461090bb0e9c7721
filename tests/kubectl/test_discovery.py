"""What kubectl learns of the server itself: kinds, versions, schemas."""

from __future__ import annotations

import msgspec
import pytest

from tests.kubectl.kubectl import Kubectl


def test_every_group_and_kind_is_listed(cluster: Kubectl) -> None:
    versions = cluster("api-versions").split()
    assert {"v1", "apps/v1", "batch/v1", "rbac.authorization.k8s.io/v1", "autoscaling/v2"} <= set(versions)
    rows = {line.split()[0]: line.split() for line in cluster("api-resources").splitlines()}
    assert rows["deployments"] == ["deployments", "deploy", "apps/v1", "true", "Deployment"]
    assert rows["namespaces"] == ["namespaces", "ns", "v1", "false", "Namespace"]


@pytest.mark.parametrize(
    ("flags", "some", "none"),
    [
        (("--namespaced=false",), "namespaces", "pods"),
        (("--api-group=apps",), "deployments.apps", "jobs.batch"),
        (("--verbs=list,watch",), "pods", "tokenreviews.authentication.k8s.io"),
        (("--categories=all",), "services", "configmaps"),
    ],
    ids=["cluster", "group", "verbs", "category"],
)
def test_kinds_are_chosen(cluster: Kubectl, flags: tuple[str, ...], some: str, none: str) -> None:
    names = cluster("api-resources", "-o", "name", *flags).split()
    assert some in names
    assert none not in names


def test_the_server_reports_its_version_health_and_address(cluster: Kubectl) -> None:
    told = msgspec.json.decode(cluster("version", "-o", "json"))
    assert told["serverVersion"]["major"] == "1"
    assert cluster("get", "--raw", "/readyz") == "ok"
    assert "Kubernetes control plane" in cluster("cluster-info")


@pytest.mark.parametrize(
    ("path", "lines"),
    [
        (
            "deployment.spec.strategy",
            ["KIND:       Deployment", "FIELD: strategy <DeploymentStrategy>", "  rollingUpdate"],
        ),
        ("pods.spec.containers.image", ["KIND:       Pod", "FIELD: image <string>", "    Image to run"]),
        ("cronjob", ["GROUP:      batch", "VERSION:    v1", "  spec\t<CronJobSpec>"]),
        ("hpa", ["GROUP:      autoscaling", "VERSION:    v2"]),
    ],
    ids=["struct", "leaf", "kind", "preferred version"],
)
def test_a_field_is_explained(cluster: Kubectl, path: str, lines: list[str]) -> None:
    told = cluster("explain", path)
    assert [line for line in lines if line not in told] == []


def test_a_field_is_explained_by_version_2_too(cluster: Kubectl) -> None:
    # Read by Go's own decoder of OpenAPI's protobuf form.
    told = cluster("explain", "deployment.spec.strategy", "--output=plaintext-openapiv2")
    assert [line for line in ("RESOURCE: strategy <Object>", "How Pods are replaced") if line not in told] == []
    assert "rollingUpdate\t<Object>" in told


def test_a_kind_is_explained_to_its_leaves(cluster: Kubectl) -> None:
    told = cluster("explain", "configmap", "--recursive")
    assert "  data\t<map[string]string>" in told
    assert "    ownerReferences\t<[]OwnerReference>" in told
    assert "      blockOwnerDeletion\t<boolean>" in told


def test_a_version_is_chosen(cluster: Kubectl) -> None:
    told = cluster("explain", "hpa.spec", "--api-version=autoscaling/v1")
    assert "targetCPUUtilizationPercentage\t<integer>" in told


def test_a_field_that_is_not_there_is_an_error(cluster: Kubectl) -> None:
    assert 'field "nonsense" does not exist' in cluster.fails("explain", "pod.spec.nonsense")
