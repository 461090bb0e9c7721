"""Nodes as an administrator keeps them: cordoned, drained, and Pods on them debugged."""

from __future__ import annotations

import json

from tests.kubectl.kubectl import Kubectl

_NODE = '{{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{name}"}}}}'
_BUDGET = """
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
"""


def _run(kubectl: Kubectl, name: str, node: str) -> None:
    spec = {"nodeName": node, "containers": [{"name": "main", "image": "nginx:1"}]}
    metadata = {"name": name, "labels": {"app": name}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    kubectl("create", "-f", "-", stdin=json.dumps(pod))
    kubectl("patch", "pod", name, "--subresource=status", "-p", '{"status":{"phase":"Running"}}')


def test_a_cordoned_node_takes_no_pods_until_it_is_uncordoned(kubectl: Kubectl, unique: str) -> None:
    kubectl("create", "-f", "-", stdin=_NODE.format(name=unique))
    assert kubectl("cordon", unique) == f"node/{unique} cordoned\n"
    assert kubectl("get", "node", unique, "-o", "jsonpath={.spec.unschedulable}") == "true"
    assert kubectl("uncordon", unique) == f"node/{unique} uncordoned\n"
    assert kubectl("get", "node", unique, "-o", "jsonpath={.spec.unschedulable}") == ""


def test_a_drained_node_has_no_pods_and_others_keep_theirs(kubectl: Kubectl, unique: str) -> None:
    kubectl("create", "-f", "-", stdin=_NODE.format(name=unique))
    _run(kubectl, "web", unique)
    _run(kubectl, "elsewhere", "another")
    told = kubectl("drain", unique, "--force", "--timeout=20s")
    assert f"node/{unique} drained" in told
    assert "pod/web evicted" in told
    assert kubectl("get", "pods", "-o", "name") == "pod/elsewhere\n"


def test_a_drain_waits_for_the_disruption_budget(kubectl: Kubectl, unique: str) -> None:
    kubectl("create", "-f", "-", stdin=_NODE.format(name=unique))
    _run(kubectl, "web", unique)
    ready = '{"status":{"conditions":[{"type":"Ready","status":"True"}]}}'
    kubectl("patch", "pod", "web", "--subresource=status", "-p", ready)
    kubectl("apply", "-f", "-", stdin=_BUDGET)
    full = '{"status":{"observedGeneration":1,"currentHealthy":1,"desiredHealthy":1,"disruptionsAllowed":0}}'
    kubectl("patch", "pdb", "web", "--subresource=status", "--type=merge", "-p", full)
    said = kubectl.fails("drain", unique, "--force", "--timeout=1s")
    assert "Cannot evict pod as it would violate the pod's disruption budget." in said
    kubectl("patch", "pdb", "web", "--subresource=status", "--type=merge", "-p", '{"status":{"disruptionsAllowed":1}}')
    kubectl("drain", unique, "--force", "--timeout=20s")
    assert kubectl("get", "pdb", "web", "-o", "jsonpath={.status.disruptionsAllowed}") == "0"
    assert kubectl("get", "pods", "-o", "name") == ""


def test_debug_adds_an_ephemeral_container(kubectl: Kubectl, unique: str) -> None:
    _run(kubectl, "web", unique)
    kubectl("debug", "web", "--image=busybox", "--container=shell", "--attach=false", "--profile=general")
    assert kubectl("get", "pod", "web", "-o", "jsonpath={.spec.ephemeralContainers[*].name}") == "shell"
