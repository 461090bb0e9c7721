"""`kubectl describe` and `kubectl events`: an object and what happened to it, for people."""

from __future__ import annotations

import pytest

from tests.kubectl.kubectl import Kubectl
from tests.kubectl.manifests import CONFIG, DEPLOYMENT
from tests.served import ServedPlane

MADE: dict[str, tuple[str, str, list[str]]] = {
    "secret": ("create secret generic x --from-literal=key=hidden", "secret/x", ["Type:  Opaque", "key:  6 bytes"]),
    "service": ("create service clusterip x --tcp=80:8080", "service/x", ["TargetPort:", "8080/TCP"]),
    "ingress": ("create ingress x --rule=a.example/x=web:80", "ingress/x", ["a.example", "web:80"]),
    "role": ("create role x --verb=get --resource=pods", "role/x", ["pods", "[get]"]),
    "job": ("create job x --image=img -- true", "job/x", ["Parallelism:", "batch.kubernetes.io/job-name=x"]),
    "cronjob": ("create cronjob x --image=img --schedule=@daily", "cronjob/x", ["Schedule:", "@daily"]),
    "pod": ("run x --image=img", "pod/x", ["Service Account:  default", "Pending", "QoS Class:", "BestEffort"]),
    "quota": ("create quota x --hard=pods=3", "quota/x", ["Resource"]),
    "account": ("create serviceaccount x", "serviceaccount/x", ["Image pull secrets:"]),
}


@pytest.mark.parametrize(("command", "target", "lines"), MADE.values(), ids=MADE)
def test_a_built_in_kind_is_described(kubectl: Kubectl, command: str, target: str, lines: list[str]) -> None:
    kubectl(*command.split())
    told = kubectl("describe", target)
    assert [line for line in lines if line not in told] == []
    assert "hidden" not in told


def test_configmaps_and_deployments_are_described(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=f"{CONFIG}---\n{DEPLOYMENT}")
    told = kubectl("describe", "configmap", "settings")
    assert "Labels:       app=web\n              tier=front" in told
    assert "mode:\n----\nfast\n" in told
    told = kubectl("describe", "deployment", "web")
    assert "Replicas:               2 desired | 0 updated | 0 total" in told
    assert "RollingUpdateStrategy:  25% max unavailable, 25% max surge" in told


def test_events_are_shown_with_their_object(kubectl: Kubectl, plane: ServedPlane) -> None:
    kubectl("create", "-f", "-", stdin=DEPLOYMENT)
    uid = kubectl("get", "deployment", "web", "-o", "jsonpath={.metadata.uid}")
    for kind, reason, message in (("Normal", "Scaled", "to two"), ("Warning", "Failed", "no luck")):
        record_event(plane, kubectl.namespace, uid, kind=kind, reason=reason, message=message)
    rows = [line.split() for line in kubectl("get", "events", "--no-headers").splitlines()]
    assert sorted(row[1:4] for row in rows) == [
        ["Normal", "Scaled", "deployment/web"],
        ["Warning", "Failed", "deployment/web"],
    ]
    assert "no luck" in kubectl("describe", "deployment", "web")
    told = kubectl("events", "--for=deployment/web", "--types=Warning")
    assert "no luck" in told
    assert "to two" not in told


def record_event(plane: ServedPlane, namespace: str, uid: str, *, kind: str, reason: str, message: str) -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": namespace, "name": "web", "uid": uid}
    event = {
        "metadata": {"generateName": "web."},
        "involvedObject": target,
        "type": kind,
        "reason": reason,
        "message": message,
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z",
        "count": 1,
        "source": {"component": "tests"},
    }
    plane.ask("POST", f"/api/v1/namespaces/{namespace}/events", event)
