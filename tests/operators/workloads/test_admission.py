"""Which Pods a kubelet rejects."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from homeostat.objects.json import JsonObject
from homeostat.operators.workloads.api import PodSpec, Workload
from homeostat.operators.workloads.pods.admission import may_be_rejected, rejection
from homeostat.operators.workloads.scheduling.fit import NodeFacts, facts_of

SIZE = {"cpu": "2", "memory": "1Gi", "pods": "2"}


def spec(requests: JsonObject | None = None, **fields: Any) -> PodSpec:
    container = {"name": "app", "resources": {"requests": requests or {}}, **fields.pop("container", {})}
    return msgspec.convert({"containers": [container], **fields}, PodSpec)


def sysctl(name: str) -> JsonObject:
    return {"sysctls": [{"name": name, "value": "1"}]}


def node(**fields: Any) -> NodeFacts:
    metadata = {"name": "node-1", "labels": {"kubernetes.io/os": "linux"}}
    given = {"metadata": metadata, "spec": fields, "status": {"allocatable": SIZE}}
    return facts_of(msgspec.convert(given, Workload))


PLAIN = spec()
HALF = spec({"cpu": "1500m", "memory": "1000Mi"})


@pytest.mark.parametrize(
    ("new", "others", "reason", "message"),
    [
        (spec({"cpu": "3"}), [], "OutOfcpu", "cpu, requested: 3000, used: 0, capacity: 2000"),
        (spec({"cpu": "1"}), [HALF], "OutOfcpu", "cpu, requested: 1000, used: 1500, capacity: 2000"),
        (
            spec({"memory": "100Mi"}),
            [HALF],
            "OutOfmemory",
            "memory, requested: 104857600, used: 1048576000, capacity: 1073741824",
        ),
        (spec({"cpu": "9"}), [PLAIN, PLAIN], "OutOfpods", "pods, requested: 1, used: 2, capacity: 2"),
        (spec(nodeSelector={"disk": "ssd"}), [], "NodeAffinity", "didn't match Pod's node affinity/selector"),
        (spec(securityContext=sysctl("kernel.msgmax")), [], "SysctlForbidden", '"kernel.msgmax" not allowlisted'),
        (spec(securityContext=sysctl("kernel/msgmax")), [], "SysctlForbidden", '"kernel.msgmax" not allowlisted'),
        (
            spec(securityContext=sysctl("net.ipv4.tcp_rmem"), hostNetwork=True),
            [],
            "SysctlForbidden",
            '"net.ipv4.tcp_rmem" not allowed with host Net enabled',
        ),
        (
            spec(securityContext=sysctl("kernel.shm_rmid_forced"), hostIPC=True),
            [],
            "SysctlForbidden",
            '"kernel.shm_rmid_forced" not allowed with host IPC enabled',
        ),
        (spec(os={"name": "windows"}), [], "PodOSNotSupported", "the OS field doesn't match node OS"),
    ],
)
def test_a_pod_that_does_not_fit_is_rejected(new: PodSpec, others: list[PodSpec], reason: str, message: str) -> None:
    found = rejection(new, node(), others)
    assert found is not None
    assert found.reason == reason
    assert found.message.endswith(message)
    assert may_be_rejected(new, node(), is_crowded=reason.startswith("OutOf"))


@pytest.mark.parametrize(
    "new",
    [
        spec({"cpu": "2", "memory": "1Gi"}),
        spec(os={"name": "linux"}, nodeSelector={"kubernetes.io/os": "linux"}),
        spec({"example.com/licenses": "3"}),
        spec(securityContext=sysctl("kernel/shm_rmid_forced"), hostNetwork=True),
    ],
    ids=["all of it", "as it wants it", "what the Node does not count", "a safe sysctl"],
)
def test_a_pod_that_fits_is_admitted_whatever_a_scheduler_would_say(new: PodSpec) -> None:
    taints = [{"key": "a", "effect": "NoSchedule"}]
    assert rejection(new, node(unschedulable=True, taints=taints), []) is None


def test_a_taint_that_evicts_also_rejects() -> None:
    tainted = node(taints=[{"key": "a", "value": "b", "effect": "NoExecute"}])
    found = rejection(PLAIN, tainted, [])
    assert found is not None
    assert found.reason == "TaintToleration"
    assert may_be_rejected(PLAIN, tainted, is_crowded=False)
    tolerant = spec(tolerations=[{"operator": "Exists"}])
    assert not may_be_rejected(tolerant, tainted, is_crowded=False)
    assert not may_be_rejected(PLAIN, node(), is_crowded=False)
