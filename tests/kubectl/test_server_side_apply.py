"""`kubectl apply --server-side`: the server merges, and knows who owns which field."""

from __future__ import annotations

import msgspec

from tests.kubectl.kubectl import Kubectl
from tests.kubectl.manifests import CONFIG, DEPLOYMENT

APPLY = ("apply", "--server-side", "-f", "-")


def managers_of(kubectl: Kubectl, target: str) -> dict[str, str]:
    shown = msgspec.json.decode(kubectl("get", target, "-o", "json", "--show-managed-fields"))
    return {entry["manager"]: entry["operation"] for entry in shown["metadata"]["managedFields"]}


def test_two_managers_own_their_own_fields(kubectl: Kubectl) -> None:
    assert kubectl(*APPLY, "--field-manager=first", stdin=CONFIG) == "configmap/settings serverside-applied\n"
    other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {colour: blue}\n"
    kubectl(*APPLY, "--field-manager=second", stdin=other)
    stored = msgspec.json.decode(kubectl("get", "configmap", "settings", "-o", "json"))
    assert stored["data"] == {"mode": "fast", "level": "3", "colour": "blue"}
    assert managers_of(kubectl, "configmap/settings") == {"first": "Apply", "second": "Apply"}


def test_a_field_its_only_manager_drops_is_removed(kubectl: Kubectl) -> None:
    kubectl(*APPLY, stdin=CONFIG)
    kubectl(*APPLY, stdin=CONFIG.replace('  level: "3"\n', ""))
    assert kubectl("get", "configmap", "settings", "-o", "jsonpath={.data}") == '{"mode":"fast"}'


def test_a_conflict_names_the_manager_and_the_field(kubectl: Kubectl) -> None:
    kubectl(*APPLY, "--field-manager=first", stdin=CONFIG)
    slow = CONFIG.replace("mode: fast", "mode: slow")
    said = kubectl.fails(*APPLY, "--field-manager=second", stdin=slow)
    assert 'conflict with "first": .data.mode' in said
    assert "--force-conflicts" in said
    assert kubectl("get", "configmap", "settings", "-o", "jsonpath={.data.mode}") == "fast"


def test_force_takes_the_field_over(kubectl: Kubectl) -> None:
    kubectl(*APPLY, "--field-manager=first", stdin=CONFIG)
    slow = CONFIG.replace("mode: fast", "mode: slow")
    kubectl(*APPLY, "--field-manager=second", "--force-conflicts", stdin=slow)
    assert kubectl("get", "configmap", "settings", "-o", "jsonpath={.data.mode}") == "slow"
    assert 'conflict with "second": .data.mode' in kubectl.fails(*APPLY, "--field-manager=first", stdin=CONFIG)


def test_an_edit_by_another_tool_conflicts_too(kubectl: Kubectl) -> None:
    kubectl(*APPLY, stdin=DEPLOYMENT)
    kubectl("scale", "deployment", "web", "--replicas=5")
    said = kubectl.fails(*APPLY, stdin=DEPLOYMENT.replace("replicas: 2", "replicas: 3"))
    assert ".spec.replicas" in said


def test_a_client_side_object_moves_over_without_conflict(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=DEPLOYMENT)
    kubectl(*APPLY, stdin=DEPLOYMENT.replace("web:1.0", "web:2.0").replace("replicas: 2\n", "replicas: 4\n"))
    shown = kubectl("get", "deployment", "web", "-o", "jsonpath={.spec.replicas} {..image}")
    assert shown == "4 example.com/web:2.0"
    assert managers_of(kubectl, "deployment/web")["kubectl"] == "Apply"


def test_diff_works_on_the_server_side(kubectl: Kubectl) -> None:
    kubectl(*APPLY, stdin=CONFIG)
    done = kubectl.run("diff", "--server-side", "-f", "-", stdin=CONFIG.replace("mode: fast", "mode: slow"))
    assert done.code == 1
    assert "+  mode: slow" in done.out
