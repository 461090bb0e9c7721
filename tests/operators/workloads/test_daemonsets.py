"""DaemonSets: where their Pods run, and how an update replaces them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from homeostat.objects.json import JsonObject
from homeostat.operators.workloads.api import Pod
from homeostat.operators.workloads.daemonsets import decide as daemons
from homeostat.operators.workloads.daemonsets.failures import Failures
from homeostat.operators.workloads.daemonsets.update import HASH
from homeostat.operators.workloads.scheduling.fit import facts_of
from tests.operators.workloads.objects import NOW, TEMPLATE, pod, workload


def daemon_step(spec: JsonObject, *pods: Pod) -> tuple[list[str], list[str]]:
    nodes = [workload("a", metadata={"labels": {"disk": "ssd"}}), workload("b", unschedulable=True)]
    nodes.append(workload("c", taints=[{"key": "gpu", "effect": "NoSchedule"}]))
    obj = workload("agent", template=TEMPLATE, **spec)
    found = daemons.decide(obj, map(facts_of, nodes), pods, digest="new", now=NOW)
    return list(found.create), [each.metadata.name for each in found.delete]


def daemon(name: str, node: str, revision: str = "new", **fields: Any) -> Pod:
    return pod(
        name, spec={"nodeName": node}, metadata={"labels": {HASH: revision}} | fields.pop("metadata", {}), **fields
    )


def test_a_daemon_set_runs_on_cordoned_nodes_and_not_on_tainted_ones() -> None:
    assert daemon_step({}) == (["a", "b"], [])
    assert daemon_step({}, daemon("x", "a"), daemon("y", "gone")) == (["b"], ["y"])
    chosen = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "nodeSelector": {"disk": "ssd"}}}
    nodes = [workload("a", metadata={"labels": {"disk": "ssd"}}), workload("b")]
    found = daemons.decide(workload("agent", template=chosen), map(facts_of, nodes), [], digest="new", now=NOW)
    assert found.create == ("a",)


def test_a_daemon_that_fits_on_no_node_yet_is_kept_for_its_node() -> None:
    affinity = daemons.spec_on(TEMPLATE, "a")["affinity"]
    waiting = pod("x", phase="Pending", ready=False, spec={"nodeName": "", "affinity": affinity})
    assert daemons.target_of(waiting) == "a"
    current = msgspec.structs.replace(waiting, metadata=daemon("x", "").metadata)
    assert daemon_step({}, current) == (["b"], [])
    untied = daemon("y", "")
    assert daemon_step({}, current, untied) == (["b"], [])


def test_a_daemon_set_is_updated_one_node_at_a_time() -> None:
    old = daemon("x", "a", "old"), daemon("y", "b", "old")
    assert daemon_step({}, *old) == ([], ["x"])
    assert daemon_step({}, daemon("x", "a", ready=False), old[1]) == ([], [])
    assert daemon_step({"updateStrategy": {"type": "OnDelete"}}, *old) == ([], [])
    wide = {"updateStrategy": {"rollingUpdate": {"maxUnavailable": "100%"}}}
    assert daemon_step(wide, *old) == ([], ["x", "y"])


SURGE: JsonObject = {"updateStrategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}
WIDE: JsonObject = {"updateStrategy": {"rollingUpdate": {"maxSurge": "100%", "maxUnavailable": 0}}}
LONG = "2026-11-17T11:00:00Z"
SLOW: JsonObject = {**SURGE, "minReadySeconds": 90}


@pytest.mark.parametrize(
    ("spec", "pods", "expected"),
    [
        (SURGE, [daemon("x", "a", "old"), daemon("y", "b", "old")], (["a"], [])),
        (WIDE, [daemon("x", "a", "old"), daemon("y", "b", "old")], (["a", "b"], [])),
        (SURGE, [daemon("x", "a", "old"), daemon("z", "a", ready=False), daemon("y", "b", "old")], ([], [])),
        (SURGE, [daemon("x", "a", "old"), daemon("z", "a"), daemon("y", "b", "old")], ([], ["x"])),
        (SLOW, [daemon("x", "a", "old", since=LONG), daemon("z", "a"), daemon("y", "b", "old", since=LONG)], ([], [])),
        (SURGE, [daemon("x", "a", "old", ready=False), daemon("z", "a", ready=False), daemon("y", "b")], ([], ["x"])),
        (SURGE, [daemon("x", "a", "old", ready=False), daemon("y", "b", "old")], (["a", "b"], [])),
        (SURGE, [daemon("x", "a"), daemon("v", "a"), daemon("y", "b")], ([], ["x"])),
        (SURGE, [daemon("x", "a", phase="Failed"), daemon("y", "b")], (["a"], ["x"])),
        ({}, [daemon("x", "a", phase="Failed"), daemon("y", "b")], ([], ["x"])),
        (SURGE, [daemon("x", "a"), daemon("y", "b"), daemon("v", "c", "old")], ([], ["v"])),
        (SURGE, [daemon("x", "a"), daemon("y", "b", ready=False), daemon("v", "c", "old")], ([], [])),
    ],
    ids=[
        "one new Pod beside an old one",
        "as many as may surge",
        "waits for the new Pod",
        "the old Pod goes when the new one is available",
        "ready is not available yet",
        "an old Pod that is not ready goes at once",
        "an old Pod that is not ready does not count",
        "of two new Pods the older one stays",
        "a failed Pod is replaced at once",
        "without surge it is deleted first",
        "a Pod on a tainted Node goes when all others are available",
        "and not before",
    ],
)
def test_the_next_step_of_an_update_with_surge(
    spec: JsonObject, pods: list[Pod], expected: tuple[list[str], list[str]]
) -> None:
    assert daemon_step(spec, *pods) == expected


def test_a_failed_daemon_that_is_held_stays_and_has_no_successor() -> None:
    nodes, failed = [facts_of(workload("a"))], daemon("x", "a", phase="Failed")
    obj = workload("agent", template=TEMPLATE)
    found = daemons.decide(obj, nodes, [failed], digest="new", now=NOW, held={failed.metadata.uid})
    assert (found.create, found.delete) == ((), ())
    assert daemons.decide(obj, nodes, [failed], digest="new", now=NOW).delete == (failed,)


def test_failed_daemons_of_a_node_stay_ever_longer() -> None:
    failures, agent, now, stayed = Failures(), workload("agent").metadata, 100.0, []
    for _ in range(13):
        stayed.append(left_s := failures.left_s(agent, "a", now))
        failures.note(agent, "a", now := now + left_s)
    assert stayed == [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]
    assert failures.left_s(agent, "b", now) == 0
    changed = msgspec.structs.replace(agent, generation=agent.generation + 1)
    assert failures.left_s(changed, "a", now) == 0
    failures.note(agent, "a", now := now + 1801)
    assert failures.left_s(agent, "a", now) == 1


def test_nodes_whose_daemons_failed_long_ago_are_forgotten() -> None:
    failures, agent = Failures(), workload("agent").metadata
    for number in range(3000):
        failures.note(agent, f"node-{number}", float(number))
    for number in range(1000):
        failures.note(agent, f"later-{number}", 9999.0)
    assert failures.left_s(agent, "node-2999", 2999.5) == 0


def test_a_daemon_stays_on_a_node_that_is_tainted_later() -> None:
    assert daemon_step({}, daemon("x", "a"), daemon("y", "b"), daemon("z", "c")) == ([], [])
    status = status_with(daemon("x", "a"), daemon("y", "b"), daemon("z", "c"))
    assert (status["desiredNumberScheduled"], status["numberMisscheduled"]) == (2, 1)


def status_with(*pods: Pod) -> JsonObject:
    nodes = [workload("a"), workload("b"), workload("c", taints=[{"key": "gpu", "effect": "NoSchedule"}])]
    found = daemons.decide(workload("agent", template=TEMPLATE), map(facts_of, nodes), pods, digest="new", now=NOW)
    assert found.status is not None
    return found.status


def test_the_oldest_of_two_pods_on_a_node_counts() -> None:
    newer = daemon("a", "a", metadata={"creationTimestamp": "2026-11-17T11:59:30Z", "labels": {HASH: "new"}})
    status = status_with(daemon("x", "a", "old"), newer, daemon("y", "b", "old"))
    assert (status["currentNumberScheduled"], status["updatedNumberScheduled"]) == (2, 0)
