"""StatefulSets, and the slices of Services."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from homeostat.objects.declared import owner_reference
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import POD, STATEFUL_SET
from homeostat.operators.workloads.api import Pod, Workload
from homeostat.operators.workloads.services.decide import Slice
from homeostat.operators.workloads.services.decide import decide as decide_slices
from homeostat.operators.workloads.statefulsets.decide import HASH, Decision, claims_for, decide, pod_additions
from homeostat.operators.workloads.statefulsets.retention import owner_changes
from tests.operators.workloads.objects import NOW, TEMPLATE, pod, workload


def stateful(replicas: int = 3, **spec: Any) -> Workload:
    return workload("db", replicas=replicas, serviceName="db", template=TEMPLATE, **spec)


def member(number: int, revision: str = "new", **fields: Any) -> Pod:
    return pod(f"db-{number}", metadata={"labels": {HASH: revision}, **fields.pop("metadata", {})}, **fields)


def deciding(obj: Workload, *pods: Pod, current: str = "new") -> Decision:
    return decide(obj, pods, current=current, update="new", now=NOW)


def steps(decision: Decision) -> tuple[list[int], list[str]]:
    return [each.ordinal for each in decision.create], [each.metadata.name for each in decision.delete]


PARALLEL: JsonObject = {"podManagementPolicy": "Parallel"}
PARTITION: JsonObject = {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}}


@pytest.mark.parametrize(
    ("spec", "pods", "current", "expected"),
    [
        ({}, [], "new", ([0], [])),
        ({}, [member(0)], "new", ([1], [])),
        ({}, [member(0, ready=False)], "new", ([], [])),
        ({}, [member(1)], "new", ([0], [])),
        ({}, [member(0, phase="Failed", ready=False)], "new", ([], ["db-0"])),
        (PARALLEL, [], "new", ([0, 1, 2], [])),
        ({}, [member(number) for number in range(5)], "new", ([], ["db-4"])),
        (PARALLEL, [member(number) for number in range(5)], "new", ([], ["db-4", "db-3"])),
        ({}, [member(number, "old") for number in range(3)], "old", ([], ["db-2"])),
        ({}, [member(0, "old"), member(1, "old"), member(2)], "old", ([], ["db-1"])),
        ({}, [member(0, "old"), member(1, "old"), member(2, ready=False)], "old", ([], [])),
        (PARTITION, [member(0, "old"), member(1, "old"), member(2)], "old", ([], [])),
        ({"updateStrategy": {"type": "OnDelete"}}, [member(number, "old") for number in range(3)], "old", ([], [])),
        ({"ordinals": {"start": 5}}, [], "new", ([5], [])),
    ],
)
def test_the_next_step_of_a_stateful_set(
    spec: JsonObject, pods: list[Pod], current: str, expected: tuple[list[int], list[str]]
) -> None:
    assert steps(deciding(stateful(**spec), *pods, current=current)) == expected


def test_a_pod_below_the_partition_comes_back_with_the_old_revision() -> None:
    found = deciding(stateful(**PARTITION), member(0, "old"), member(2), current="old")
    assert [(each.ordinal, each.revision) for each in found.create] == [(1, "old")]


def test_the_current_revision_follows_when_all_pods_are_updated() -> None:
    found = deciding(stateful(), *(member(number) for number in range(3)), current="old")
    assert found.status is not None
    assert found.status["currentRevision"] == "new"
    half = deciding(stateful(), member(0, "old"), member(1), member(2), current="old")
    assert half.status is not None
    assert (half.status["currentRevision"], half.status["updatedReplicas"]) == ("old", 2)


def test_a_set_returns_to_its_current_revision() -> None:
    """As after an update that was taken back half-way."""
    pods = [member(0), member(1), member(2, "broken", ready=False)]
    assert steps(deciding(stateful(**PARALLEL), *pods)) == ([], ["db-2"])
    assert steps(deciding(stateful(), *pods[:2], member(2, "broken"))) == ([], ["db-2"])


def test_a_surplus_pod_waits_for_one_below_that_is_not_ready() -> None:
    healthy, broken = [member(number) for number in range(4)], [member(number, ready=False) for number in range(4)]
    assert steps(deciding(stateful(1), *healthy[:2], *broken[2:])) == ([], [])
    assert steps(deciding(stateful(1), *healthy[:3], broken[3])) == ([], ["db-3"])
    assert steps(deciding(stateful(1), *healthy[:2], broken[2], healthy[3])) == ([], ["db-3"])
    assert steps(deciding(stateful(1, **PARALLEL), *healthy[:2], *broken[2:])) == ([], ["db-3", "db-2", "db-1"])


def test_a_set_without_pods_has_the_revision_of_its_template_whatever_its_partition() -> None:
    found = deciding(stateful(0, **PARTITION), current="old")
    assert found.status is not None
    assert found.status["currentRevision"] == "new"


CLAIM_REFERENCES = [
    ({}, False, [], []),
    ({"whenDeleted": "Delete"}, False, [], ["StatefulSet"]),
    ({"whenScaled": "Delete"}, True, [], ["Pod"]),
    ({"whenScaled": "Delete", "whenDeleted": "Delete"}, True, ["StatefulSet"], ["Pod"]),
    ({"whenDeleted": "Delete"}, False, ["Keeper"], ["Keeper"]),
    ({"whenDeleted": "Delete"}, False, ["former StatefulSet"], ["former StatefulSet"]),
]


@pytest.mark.parametrize(("policy", "is_condemned", "given", "expected"), CLAIM_REFERENCES)
def test_the_owners_of_a_claim(policy: JsonObject, is_condemned: bool, given: list[str], expected: list[str]) -> None:
    """One that somebody else controls, or a former set, is left to that."""
    obj, of = stateful(persistentVolumeClaimRetentionPolicy=policy), member(0)
    known: JsonObject = {
        "StatefulSet": owner_reference(STATEFUL_SET, obj.metadata),
        "Pod": owner_reference(POD, of.metadata),
        "Keeper": {"apiVersion": "v1", "kind": "Keeper", "name": "k", "uid": "k", "controller": True},
        "former StatefulSet": {**owner_reference(STATEFUL_SET, obj.metadata), "uid": "former"},
    }
    claim = workload("data-db-0", metadata={"ownerReferences": [known[each] for each in given]})
    found = owner_changes(obj, of, claim, is_condemned=is_condemned)
    assert found == (None if given == expected else [known[each] for each in expected])


def test_a_pod_of_a_stateful_set_has_its_name_and_its_claims() -> None:
    template = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    obj = stateful(volumeClaimTemplates=[template])
    labels, fields = pod_additions(obj, 1, TEMPLATE)
    assert labels["statefulset.kubernetes.io/pod-name"] == "db-1"
    assert (fields["hostname"], fields["subdomain"]) == ("db-1", "db")
    assert fields["volumes"] == [{"name": "data", "persistentVolumeClaim": {"claimName": "data-db-1"}}]
    assert [each["metadata"]["name"] for each in claims_for(obj, 1)] == ["data-db-1"]


def test_a_pod_of_an_old_revision_has_the_volumes_of_that_revision() -> None:
    newer = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "volumes": [{"name": "cache", "emptyDir": {}}]}}
    obj = workload("db", serviceName="db", template=newer)
    assert "volumes" not in pod_additions(obj, 0, TEMPLATE)[1]
    assert pod_additions(obj, 0, newer)[1]["volumes"] == newer["spec"]["volumes"]


def test_a_huge_stateful_set_takes_steps_of_500_pods() -> None:
    huge = 2_000_000_000
    assert steps(deciding(stateful(huge))) == ([0], [])
    assert steps(deciding(stateful(huge, **PARALLEL))) == (list(range(500)), [])
    surplus = steps(deciding(stateful(0, **PARALLEL), *(member(number) for number in range(600))))
    assert len(surplus[1]) == 500


def service(**spec: Any) -> Workload:
    return workload("web", selector={"app": "web"}, ports=[{"port": 80, "targetPort": 8080}], **spec)


def test_a_service_has_a_slice_for_each_hundred_pods() -> None:
    pods = [pod(f"web-{number:03}") for number in range(150)]
    found = decide_slices(service(), pods, [])
    assert [len(each["endpoints"]) for each in found.create] == [100, 50]
    assert found.create[0]["ports"] == [{"name": "", "port": 8080, "protocol": "TCP"}]
    kept = [Slice(str(number), each["ports"], each["endpoints"]) for number, each in enumerate(found.create)]
    assert decide_slices(service(), pods, kept) == type(found)()


def test_pods_that_are_not_ready_are_not_ready_endpoints_unless_published() -> None:
    pods = [pod("a", ready=False), pod("b", metadata={"deletionTimestamp": "x"}), pod("c", phase="Failed")]
    (first,) = decide_slices(service(), pods, []).create
    conditions = [each["conditions"] for each in first["endpoints"]]
    assert conditions == [
        {"ready": False, "serving": False, "terminating": False},
        {"ready": False, "serving": True, "terminating": True},
    ]
    (published,) = decide_slices(service(publishNotReadyAddresses=True), pods, []).create
    assert published["endpoints"][0]["conditions"]["ready"] is True


def test_a_changed_pod_updates_its_slice_and_surplus_ones_are_deleted() -> None:
    (first,) = decide_slices(service(), [pod("a")], []).create
    slices = [Slice("one", first["ports"], first["endpoints"]), Slice("two", [], [])]
    found = decide_slices(service(), [pod("a", ready=False)], slices)
    assert list(found.update) == ["one"]
    assert found.delete == ("two",)
    assert msgspec.to_builtins(found)["create"] == ()
