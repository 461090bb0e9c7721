"""What the status of a Node says when it begins and ceases to fail by its annotation."""

from __future__ import annotations

import pytest

from homeostat.objects.json import JsonObject
from homeostat.operators.workloads.api import OUTCOME, Workload
from homeostat.operators.workloads.nodes.decide import decide
from homeostat.operators.workloads.nodes.failure import outcome_fault
from tests.operators.workloads.objects import workload

NOW = "2026-11-17T12:00:00Z"
FOREIGN: JsonObject = {"type": "KernelDeadlock", "status": "False", "reason": "KernelHasNoDeadlock"}


def node(status: JsonObject, outcome: str | None = None) -> Workload:
    annotations = {} if outcome is None else {OUTCOME: outcome}
    return workload("node-1", status=status, metadata={"namespace": "", "annotations": annotations})


def test_conditions_of_others_stay_when_a_node_starts_fails_and_recovers() -> None:
    status: JsonObject = {"conditions": [FOREIGN]}
    for outcome, ready in ((None, "True"), ("unreachable", "Unknown"), ("not-ready", "False"), (None, "True")):
        changed = decide(node(status, outcome), {"cpu": "1"}, address="172.16.0.1", now=NOW)
        assert changed is not None
        status = {**status, **changed}
        assert {each["type"]: each["status"] for each in status["conditions"]}["Ready"] == ready
        assert FOREIGN in status["conditions"]
        assert len(status["conditions"]) == 5
        assert decide(node(status, outcome), {"cpu": "1"}, address="172.16.0.1", now=NOW) is None


@pytest.mark.parametrize(
    ("outcome", "is_wrong"), [(None, False), ("unreachable", False), ("not-ready", False), ("crash", True), ("", True)]
)
def test_an_unknown_outcome_of_a_node_is_explained(outcome: str | None, is_wrong: bool) -> None:
    fault = outcome_fault(node({}, outcome))
    assert bool(fault) == is_wrong
    assert "expected one of not-ready, unreachable" in fault or not is_wrong
