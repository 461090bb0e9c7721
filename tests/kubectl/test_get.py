"""`kubectl get`: every way of looking."""

from __future__ import annotations

import msgspec
import pytest
import yaml

from tests.kubectl.kubectl import Kubectl
from tests.kubectl.manifests import CONFIG, DEPLOYMENT

SMALL = """\
apiVersion: v1
kind: ConfigMap
metadata: {{name: c{number}, labels: {{parity: {parity}, number: "{number}"}}}}
---
"""
SIX = "".join(SMALL.format(number=number, parity="even" if number % 2 == 0 else "odd") for number in range(6))


@pytest.fixture
def six(kubectl: Kubectl) -> Kubectl:
    kubectl("create", "-f", "-", stdin=SIX)
    return kubectl


def test_a_table_has_the_columns_of_its_kind(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=DEPLOYMENT)
    header, row = kubectl("get", "deployments").splitlines()
    assert header.split() == ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]
    assert row.split()[:4] == ["web", "0/2", "0", "0"]
    header, row = kubectl("get", "deploy", "web", "-o", "wide").splitlines()
    assert header.split()[5:] == ["CONTAINERS", "IMAGES", "SELECTOR"]
    assert row.split()[5:] == ["web", "example.com/web:1.0", "app=web"]


def test_a_pod_is_pending_for_ever(kubectl: Kubectl) -> None:
    kubectl("run", "p", "--image=x")
    assert kubectl("get", "pods", "--no-headers").split()[:4] == ["p", "0/1", "Pending", "0"]


@pytest.mark.parametrize(
    ("flags", "shown"),
    [
        (("-o", "name"), "configmap/settings\n"),
        (("-o", "jsonpath={.data.mode}"), "fast"),
        (("-o", "go-template={{.data.level}}"), "3"),
        (("-o", "custom-columns=NAME:.metadata.name,MODE:.data.mode"), "NAME       MODE\nsettings   fast\n"),
        (("-L", "tier", "--no-headers"), "front\n"),
        (("--show-labels", "--no-headers"), "app=web,tier=front\n"),
    ],
    ids=["name", "jsonpath", "go-template", "custom-columns", "label column", "labels"],
)
def test_an_object_is_shown_in_the_form_asked_for(kubectl: Kubectl, flags: tuple[str, ...], shown: str) -> None:
    kubectl("create", "-f", "-", stdin=CONFIG)
    assert kubectl("get", "configmap", "settings", *flags).endswith(shown)


def test_yaml_and_json_are_the_whole_object(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=CONFIG)
    as_yaml = yaml.safe_load(kubectl("get", "configmap", "settings", "-o", "yaml"))
    as_json = msgspec.json.decode(kubectl("get", "configmap", "settings", "-o", "json"))
    assert as_yaml == as_json
    assert as_json["metadata"]["uid"]
    assert as_json["data"] == {"mode": "fast", "level": "3"}


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        (("-l", "parity=even"), "c0 c2 c4"),
        (("-l", "parity!=even,number notin (1,3)"), "c5"),
        (("-l", "number in (1,2),parity"), "c1 c2"),
        (("-l", "!number"), ""),
        (("--field-selector", "metadata.name=c3"), "c3"),
        (("--field-selector", "metadata.name!=c3", "-l", "parity=odd"), "c1 c5"),
    ],
    ids=["equal", "notin", "in", "absent", "name", "both"],
)
def test_a_selector_chooses(six: Kubectl, selector: tuple[str, ...], names: str) -> None:
    found = six("get", "configmaps", *selector, "-o", "jsonpath={.items[*].metadata.name}").split()
    assert [name for name in found if name != "kube-root-ca.crt"] == names.split()


def test_a_chunked_list_is_the_whole_list(six: Kubectl) -> None:
    plain = six("get", "configmaps", "-o", "name")
    assert six("get", "configmaps", "-o", "name", "--chunk-size=2") == plain
    assert len(six("get", "configmaps", "--chunk-size=1", "-l", "parity", "--no-headers").splitlines()) == 6


def test_sorting_and_all_namespaces_work_on_tables(six: Kubectl) -> None:
    rows = six("get", "configmaps", "-l", "parity", "--sort-by=.metadata.labels.parity", "--no-headers").splitlines()
    assert [row.split()[0] for row in rows] == ["c0", "c2", "c4", "c1", "c3", "c5"]
    header, *rows = six("get", "configmaps", "-A", "-l", "number=3").splitlines()
    assert header.split()[:2] == ["NAMESPACE", "NAME"]
    assert [six.namespace, "c3"] in [row.split()[:2] for row in rows]


def test_a_watch_shows_a_change_and_a_deletion(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=DEPLOYMENT)
    watch = kubectl.start("get", "deployments", "-w", "--output-watch-events")
    try:
        assert watch.stdout is not None
        assert watch.stdout.readline().split()[:3] == ["EVENT", "NAME", "READY"]
        assert watch.stdout.readline().split()[:3] == ["ADDED", "web", "0/2"]
        kubectl("scale", "deployment", "web", "--replicas=5")
        assert watch.stdout.readline().split()[:3] == ["MODIFIED", "web", "0/5"]
        kubectl("delete", "deployment", "web")
        assert watch.stdout.readline().split()[:3] == ["DELETED", "web", "0/5"]
    finally:
        watch.terminate()
        watch.communicate()


def test_a_watch_of_one_object_shows_rows(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=DEPLOYMENT)
    watch = kubectl.start("get", "deployment", "web", "-w", "--no-headers")
    try:
        assert watch.stdout is not None
        assert watch.stdout.readline().split()[:2] == ["web", "0/2"]
        kubectl("scale", "deployment", "web", "--replicas=5")
        assert watch.stdout.readline().split()[:2] == ["web", "0/5"]
    finally:
        watch.terminate()
        watch.communicate()


def test_all_shows_every_kind_of_the_category(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=DEPLOYMENT)
    kubectl("create", "service", "clusterip", "front", "--tcp=80")
    assert kubectl("get", "all", "-o", "name").split() == ["service/front", "deployment.apps/web"]


def test_several_kinds_are_shown_together(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=f"{CONFIG}---\n{DEPLOYMENT}")
    shown = kubectl("get", "configmap/settings", "deployment/web", "-o", "json")
    assert [item["kind"] for item in msgspec.json.decode(shown)["items"]] == ["ConfigMap", "Deployment"]


def test_one_page_is_read_raw(kubectl: Kubectl) -> None:
    page = msgspec.json.decode(kubectl("get", "--raw", f"/api/v1/namespaces/{kubectl.namespace}/pods"))
    assert page["kind"] == "PodList"
    assert page["items"] == []


def test_the_status_alone_is_read_as_a_subresource(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=DEPLOYMENT)
    shown = kubectl("get", "deployment", "web", "--subresource=scale", "-o", "jsonpath={.kind} {.spec.replicas}")
    assert shown == "Scale 2"
