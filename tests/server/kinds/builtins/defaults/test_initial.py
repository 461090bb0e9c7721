"""The first status of a built-in object: Go never leaves the struct out, and clients read it without asking."""

from __future__ import annotations

import pytest

from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.defaults import apply_initial

FIRST: dict[tuple[str, str], JsonObject] = {
    ("apps", "Deployment"): {},
    ("apps", "ReplicaSet"): {"replicas": 0},
    ("apps", "StatefulSet"): {"replicas": 0, "availableReplicas": 0},
    ("batch", "Job"): {},
    ("batch", "CronJob"): {},
    ("", "Pod"): {"phase": "Pending", "qosClass": "BestEffort"},
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): {},
    ("", "ReplicationController"): {"replicas": 0},
    ("", "ResourceQuota"): {},
    ("policy", "PodDisruptionBudget"): {
        "disruptionsAllowed": 0,
        "currentHealthy": 0,
        "desiredHealthy": 0,
        "expectedPods": 0,
    },
}


@pytest.mark.parametrize(("kind", "status"), FIRST.items(), ids=[kind for _, kind in FIRST])
def test_a_new_object_has_the_status_that_go_would_write(kind: tuple[str, str], status: JsonObject) -> None:
    obj: JsonObject = {"metadata": {"name": "x"}, "spec": {}}
    apply_initial(*kind, obj)
    assert obj["status"] == status
