"""Which Node a Pod fits on, and why on none."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from homeostat.objects.json import JsonObject
from homeostat.operators.workloads.api import PodSpec
from homeostat.operators.workloads.nodes.failure import stays_s
from homeostat.operators.workloads.scheduling.fit import amount_of, requests_of
from homeostat.operators.workloads.scheduling.scheduler import Scheduler
from tests.operators.workloads.objects import pod, workload

KEY = ("default", "a")


def spec_of(**fields: Any) -> PodSpec:
    return msgspec.convert({"containers": [{"name": "a", "image": "a"}], **fields}, PodSpec)


def asking(**requests: str) -> JsonObject:
    return {"containers": [{"name": "a", "resources": {"requests": requests}}]}


def scheduler() -> Scheduler:
    """Three Nodes: an empty one, one for databases, and a tainted one."""
    found = Scheduler()
    size = {"allocatable": {"cpu": "2", "memory": "4Gi", "pods": "3"}}
    taint = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    found.set_node(workload("plain", status=size, metadata={"labels": {"zone": "a"}}))
    found.set_node(workload("database", status=size, metadata={"labels": {"zone": "b", "disk": "ssd", "rank": "7"}}))
    found.set_node(workload("tainted", status=size, taints=[taint], metadata={"labels": {"zone": "c"}}))
    return found


def affine(key: str, operator: str, *values: str) -> JsonObject:
    term = {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


@pytest.mark.parametrize(
    ("fields", "nodes"),
    [
        ({}, {"plain", "database"}),
        ({"nodeSelector": {"disk": "ssd"}}, {"database"}),
        ({"affinity": affine("zone", "In", "a", "c")}, {"plain"}),
        ({"affinity": affine("disk", "DoesNotExist")}, {"plain"}),
        ({"affinity": affine("rank", "Gt", "6")}, {"database"}),
        ({"affinity": affine("rank", "Gt", "7")}, {""}),
        ({"affinity": affine("rank", "Lt", "8")}, {"database"}),
        ({"affinity": affine("rank", "Gt", "abc")}, {""}),
        ({"affinity": affine("zone", "Lt", "8")}, {""}),
        ({"tolerations": [{"key": "gpu", "operator": "Exists"}], "nodeSelector": {"zone": "c"}}, {"tainted"}),
        ({"tolerations": [{"key": "gpu", "value": "no"}], "nodeSelector": {"zone": "c"}}, {""}),
        ({**asking(cpu="2500m")}, {""}),
        ({**asking(cpu="1", memory="4Gi")}, {"plain", "database"}),
    ],
)
def test_a_pod_is_placed_where_it_fits(fields: JsonObject, nodes: set[str]) -> None:
    assert scheduler().place(("default", "a"), spec_of(**fields), {}) in nodes


def test_the_reason_has_the_words_of_the_scheduler() -> None:
    found = scheduler()
    assert found.explain(KEY, spec_of(**asking(cpu="3")), {}) == (
        "0/3 nodes are available: 1 node(s) had untolerated taint {gpu: yes}, 2 Insufficient cpu. "
        "no new claims to deallocate, preemption: 0/3 nodes are available: "
        "2 No preemption victims found for incoming pod, "
        "1 Preemption is not helpful for scheduling."
    )
    found.set_node(workload("plain", unschedulable=True))
    text = found.explain(KEY, spec_of(nodeSelector={"zone": "x"}), {})
    assert "1 node(s) were unschedulable" in text
    assert "1 node(s) didn't match Pod's node affinity/selector" in text
    assert Scheduler().explain(KEY, spec_of(), {}) == "no nodes available to schedule pods"


def test_a_node_is_full_until_a_pod_ends() -> None:
    found = scheduler()
    keys = [("default", str(number)) for number in range(6)]
    assert all(found.place(key, spec_of(), {}) for key in keys)
    assert not found.place(("default", "more"), spec_of(), {})
    assert "Too many pods" in found.explain(KEY, spec_of(), {})
    found.observe(pod("0", phase="Succeeded"))
    assert found.place(("default", "more"), spec_of(), {})


def test_what_was_added_to_the_capacity_of_a_node_can_be_used() -> None:
    found = Scheduler()
    size = {"capacity": {"pods": "2", "cpu": "4", "example.com/x": "3"}, "allocatable": {"pods": "1", "cpu": "2"}}
    found.set_node(workload("odd", status=size))
    facts = found.node("odd")
    assert facts is not None
    assert facts.allocatable == {"pods": amount_of(1), "cpu": amount_of(2), "example.com/x": amount_of(3)}


def requesting(cpu: str, **fields: object) -> JsonObject:
    return {"name": "a", "image": "a", "resources": {"requests": {"cpu": cpu}}, **fields}


ALWAYS = {"restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("fields", "cpu"),
    [
        ({"containers": [requesting("1"), requesting("500m")]}, "1500m"),
        ({"containers": [requesting("1")], "initContainers": [requesting("2"), requesting("3")]}, "3"),
        ({"containers": [requesting("1")], "initContainers": [requesting("1", **ALWAYS), requesting("500m")]}, "2"),
        ({"containers": [requesting("1")], "initContainers": [requesting("1", **ALWAYS), requesting("3")]}, "4"),
        ({"containers": [requesting("1")], "resources": {"requests": {"cpu": "3"}}}, "3"),
        ({"containers": [requesting("1")], "overhead": {"cpu": "250m"}}, "1250m"),
    ],
    ids=["containers", "init containers", "sidecar", "after a sidecar", "of the Pod", "overhead"],
)
def test_what_a_pod_requests(fields: JsonObject, cpu: str) -> None:
    found = requests_of(spec_of(**fields))
    assert (found["cpu"], found["pods"]) == (amount_of(cpu), amount_of("1"))


def test_pods_are_spread_over_the_nodes() -> None:
    found = Scheduler()
    for number in range(10):
        found.set_node(workload(f"node-{number}", status={"allocatable": {"pods": "110"}}))
    nodes = [found.place(("default", str(number)), spec_of(), {}) for number in range(100)]
    assert {nodes.count(each) for each in nodes} <= {9, 10, 11}


@pytest.mark.parametrize("addresses", [[{"type": "InternalIP"}], [{}], None])
def test_a_node_without_an_address_is_taken_in(addresses: JsonObject | None) -> None:
    found = Scheduler()
    found.set_node(workload("odd", status={"allocatable": {"pods": "1"}, "addresses": addresses}))
    facts = found.node("odd")
    assert facts is not None
    assert facts.address == ""


def tolerating(key: str, seconds: int | None = None) -> JsonObject:
    return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}


@pytest.mark.parametrize(
    ("tolerations", "taints", "expected"),
    [
        ([], ["a"], 0.0),
        ([], [], None),
        ([tolerating("a")], ["a"], None),
        ([tolerating("a", 30)], ["a"], 30.0),
        ([tolerating("a", 30), tolerating("a", 5)], ["a"], 5.0),
        ([tolerating("a", 30)], ["a", "b"], 0.0),
        ([tolerating("a", 30), tolerating("b")], ["a", "b"], 30.0),
        ([tolerating("a", -1)], ["a"], 0.0),
    ],
)
def test_a_pod_stays_as_long_as_it_tolerates_the_taints(
    tolerations: list[JsonObject], taints: list[str], expected: float | None
) -> None:
    found = [{"key": each, "effect": "NoExecute"} for each in taints]
    assert stays_s(spec_of(tolerations=tolerations), [*found, {"key": "c", "effect": "NoSchedule"}]) == expected


def test_a_port_of_the_host_is_for_one_pod_on_each_node() -> None:
    def serving(ip: str, protocol: str = "TCP") -> PodSpec:
        port = {"containerPort": 80, "hostPort": 80, "hostIP": ip, "protocol": protocol}
        return spec_of(nodeSelector={"zone": "a"}, containers=[{"name": "a", "ports": [port]}])

    on = scheduler()
    assert on.place(("default", "one"), serving("10.0.0.1"), {}) == "plain"
    assert on.place(("default", "elsewhere"), serving("10.0.0.2"), {}) == "plain"
    assert on.place(("default", "same"), serving("10.0.0.1"), {}) == ""
    assert on.place(("default", "all"), serving(""), {}) == ""
    assert "1 node(s) didn't have free ports for the requested pod ports" in on.explain(KEY, serving(""), {})
    on.release(("default", "one"))
    on.release(("default", "elsewhere"))
    assert on.place(("default", "all"), serving(""), {}) == "plain"
    assert on.place(("default", "one"), serving("10.0.0.1"), {}) == ""
    assert on.place(("default", "udp"), serving("", "UDP"), {}) == "plain"
