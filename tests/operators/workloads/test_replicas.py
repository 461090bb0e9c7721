"""ReplicaSets: creation, deletion and adoption of Pods."""

from __future__ import annotations

from typing import Any

import pytest

from homeostat.objects.json import Json
from homeostat.objects.selectors import selector_of, selects
from homeostat.operators.workloads.api import Pod, Workload
from homeostat.operators.workloads.availability import DELETION_COST
from homeostat.operators.workloads.creation import check_readable
from homeostat.operators.workloads.naming import hash_of, suffix_of, suffixed
from homeostat.operators.workloads.ownership import claim
from homeostat.operators.workloads.replicas.decide import Decision, decide
from homeostat.runtime.cache.cache import CacheWriter
from homeostat.runtime.cache.decoding import UnreadableObject
from homeostat.runtime.cache.unreadable import UnreadableError
from tests.operators.workloads.objects import NOW, TEMPLATE, pod, workload


def replica_set(replicas: int, **spec: Any) -> Workload:
    return workload(replicas=replicas, selector={"matchLabels": {"app": "web"}}, template=TEMPLATE, **spec)


def deciding(replicas: int, pods: list[Pod], **spec: Any) -> Decision:
    return decide(replica_set(replicas, **spec), pods, now=NOW)


def test_missing_pods_are_created_and_finished_ones_replaced() -> None:
    assert deciding(3, []).create == 3
    assert deciding(3, [pod("a"), pod("b", phase="Failed")]).create == 2
    assert deciding(2000, []).create == 500
    assert decide(replica_set(3, metadata={"deletionTimestamp": "x"}), [], now=NOW).create == 0


def test_the_pods_least_missed_are_deleted_first() -> None:
    pods = [
        pod("old"),
        pod("young", since="2026-11-17T11:59:30Z"),
        pod("unready", ready=False),
        pod("pending", phase="Pending", ready=False),
        pod("unscheduled", phase="Pending", ready=False, spec={"nodeName": ""}),
        pod("cheap", metadata={"annotations": {DELETION_COST: "-5"}}),
    ]
    order = ["unscheduled", "pending", "unready", "cheap", "young", "old"]
    for replicas in range(6):
        deleted = [each.metadata.name for each in deciding(replicas, pods).delete]
        assert deleted == order[: 6 - replicas]


def test_pods_of_other_sets_of_the_deployment_crowd_a_node() -> None:
    mine = [pod("a"), pod("b", spec={"nodeName": "node-2"})]
    others = [pod(f"new-{number}", spec={"nodeName": "node-2"}) for number in range(2)]
    for related, expected in ((others, "b"), (mine[:1], "a")):
        found = decide(replica_set(1), mine, related=related, now=NOW)
        assert [each.metadata.name for each in found.delete] == [expected]


def test_a_pod_is_available_after_min_ready_seconds() -> None:
    found = deciding(2, [pod("a", since="2026-11-17T11:59:55Z"), pod("b")], minReadySeconds=10)
    assert found.status is not None
    assert found.status["readyReplicas"] == 2
    assert found.status["availableReplicas"] == 1
    assert found.again_s == 5.0


def test_an_unchanged_status_is_not_written() -> None:
    found = deciding(1, [pod("a")])
    again = decide(workload(replicas=1, template=TEMPLATE, status=found.status), [pod("a")], now=NOW)
    assert again == Decision(0, (), None, None)


def test_a_failed_creation_is_a_condition() -> None:
    found = decide(replica_set(1), [], failure="quota exceeded", now=NOW)
    assert found.status is not None
    (condition,) = found.status["conditions"]
    assert (condition["type"], condition["reason"]) == ("ReplicaFailure", "FailedCreate")
    # The next attempt is refused with the name of another Pod: no reason to write the status again.
    refused = workload(replicas=1, template=TEMPLATE, status=found.status)
    assert decide(refused, [], failure="quota exceeded by another", now=NOW).status is None
    over = decide(refused, [pod("a")], now=NOW).status
    assert over is not None
    assert over["conditions"] == []


def test_orphans_that_match_are_adopted_and_owned_ones_that_do_not_are_released() -> None:
    owner = replica_set(1).metadata
    ours = {"ownerReferences": [{"kind": "ReplicaSet", "name": "web", "uid": owner.uid, "controller": True}]}
    theirs = {"ownerReferences": [{"kind": "ReplicaSet", "name": "x", "uid": "x", "controller": True}]}
    pods = [
        pod("owned", metadata=ours),
        pod("relabelled", metadata={**ours, "labels": {"app": "other"}}),
        pod("orphan"),
        pod("terminating", metadata={"deletionTimestamp": "x"}),
        pod("theirs", metadata=theirs),
    ]
    found = claim(owner, selector_of({"matchLabels": {"app": "web"}}), pods)
    names = [[each.metadata.name for each in some] for some in found]
    assert names == [["owned", "orphan"], ["orphan"], ["relabelled"]]
    picky = claim(owner, selector_of({"matchLabels": {"app": "web"}}), pods, adopts=lambda each: each.is_finished)
    assert [each.metadata.name for each in picky.owned] == ["owned"]


def test_a_hash_depends_on_the_content_and_not_on_the_order() -> None:
    assert hash_of({"a": 1, "b": [2]}) == hash_of({"b": [2], "a": 1})
    assert hash_of({"a": 1}) != hash_of({"a": 2})
    assert hash_of({"a": 1}) != hash_of({"a": 1}, 1)


def test_a_pod_name_is_a_stem_and_five_characters_and_fits_into_a_label() -> None:
    assert suffixed("web", suffix_of(0)) == "web-bbbbb"
    assert len(suffixed("x" * 80, suffix_of(27**5 - 1))) == 63


@pytest.mark.parametrize(
    ("selector", "is_selected"),
    [
        ({"matchLabels": {"app": "web"}}, True),
        ({"matchLabels": {"app": "db"}}, False),
        (None, False),
        ("app=web", False),
        ({"matchLabels": ["app"]}, False),
        ({"matchExpressions": [{"key": "app", "operator": "Near"}]}, False),
    ],
)
def test_an_invalid_selector_selects_nothing(selector: Json, is_selected: bool) -> None:
    assert selects(selector, {"app": "web"}) is is_selected


def test_no_pods_are_created_beside_an_unreadable_one_that_may_be_the_first() -> None:
    writer: CacheWriter[Pod] = CacheWriter(
        name_of=lambda each: each.key, version_of=lambda each: 1, is_unseen=lambda deletion, each: False
    )
    owner = workload("web").metadata
    for name in ("website-1", "other-1"):
        writer.leave_out(UnreadableObject("default", name, 1, "odd"))
    writer.leave_out(UnreadableObject("elsewhere", "web-1", 2, "odd"))
    check_readable(owner, writer.cache)
    writer.leave_out(UnreadableObject("default", "web-2", 3, "odd"))
    with pytest.raises(UnreadableError, match="default/web-2"):
        check_readable(owner, writer.cache)
