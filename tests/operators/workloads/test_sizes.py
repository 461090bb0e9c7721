"""Numbers and conditions as users and others may store them."""

from __future__ import annotations

import pytest

from homeostat.objects.json import Json, JsonObject
from homeostat.objects.views.rollout import REVISION
from homeostat.operators.workloads.availability import DELETION_COST, in_deletion_order
from homeostat.operators.workloads.conditions import find, with_condition
from homeostat.operators.workloads.deployments.sets import revision_of
from homeostat.operators.workloads.deployments.status import status_of
from homeostat.operators.workloads.jobs.counts import INDEX, index_of
from homeostat.operators.workloads.sizes import integer_of, scaled
from tests.operators.workloads.objects import NOW, pod, workload

ODD = ["", "9223372036854775808", "+-5", "--5", "\u00b2", "\u0663", "1e3", " 1", "1\n", "9" * 5000]


@pytest.mark.parametrize("text", ODD)
def test_odd_text_is_no_number(text: str) -> None:
    assert integer_of(text) is None
    assert scaled(text, 10, rounds_up=True) == scaled(f"{text}%", 10, rounds_up=True) == 0
    assert revision_of(workload(metadata={"annotations": {REVISION: text}})) == 0
    assert index_of(pod(metadata={"annotations": {INDEX: text}})) is None
    odd, cheap = pod("odd", metadata={"annotations": {DELETION_COST: text}}), {DELETION_COST: "-5"}
    assert in_deletion_order([odd, pod("cheap", metadata={"annotations": cheap})])[1] is odd


def test_a_revision_has_64_bits() -> None:
    assert revision_of(workload(metadata={"annotations": {REVISION: "3546343826724305832"}})) == 3546343826724305832


@pytest.mark.parametrize(
    ("value", "up", "down"),
    [(3, 3, 3), ("3", 3, 3), ("25%", 3, 2), ("0%", 0, 0), ("100%", 10, 10), (None, 0, 0), ("-5%", 0, 0)],
)
def test_a_share_is_rounded_as_asked(value: Json, up: int, down: int) -> None:
    assert scaled(value, 10, rounds_up=True) == up
    assert scaled(value, 10, rounds_up=False) == down


def test_a_stored_condition_without_a_time_gets_one() -> None:
    stored: list[JsonObject] = [{"type": "Available", "status": "True", "reason": "Old"}]
    found = find(with_condition(stored, "Available", "True", "New", "", now="now", key=""), "Available")
    assert found is not None
    assert found["lastTransitionTime"] == "now"
    failed = workload("web-1", status={"conditions": [{"type": "ReplicaFailure", "status": "True"}]})
    status = {"conditions": [{"type": kind, "status": "True"} for kind in ("Progressing", "ReplicaFailure")]}
    owner = workload(replicas=2, progressDeadlineSeconds=600, status={**status, "replicas": 3})
    conditions = status_of(owner, failed, [failed], NOW)[0]["conditions"]
    progressing = find(conditions, "Progressing")
    assert progressing is not None
    assert progressing["lastTransitionTime"]
    assert find(conditions, "ReplicaFailure")
