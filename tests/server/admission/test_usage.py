"""What an object uses of a quota."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from homeostat.objects.quantity import Quantity
from homeostat.server.admission.plugins.usage import is_in_scope, usage_of

DELETED = datetime(2026, 11, 17, 12, 0, 30, tzinfo=UTC)


@pytest.mark.parametrize(("later_s", "pods"), [(-30, 1), (30, 1), (31, 0)])
def test_a_pod_that_should_be_gone_for_its_grace_period_counts_no_more(later_s: int, pods: int) -> None:
    metadata = {"name": "lost", "deletionTimestamp": "2026-11-17T12:00:30Z", "deletionGracePeriodSeconds": 30}
    used = usage_of("pods", {"metadata": metadata, "spec": {}}, DELETED + timedelta(seconds=later_s))
    assert used.get("pods", Quantity(0)) == Quantity(pods * 10**9)
    assert used["count/pods"] == Quantity(10**9)


def test_a_claim_uses_what_was_allocated_if_that_is_more() -> None:
    claim: dict[str, Any] = {"spec": {"resources": {"requests": {"storage": "1Gi"}}}}
    for allocated, used in (({}, "1Gi"), ({"storage": "2Gi"}, "2Gi"), ({"storage": "1Mi"}, "1Gi")):
        claim["status"] = {"allocatedResources": allocated}
        assert usage_of("persistentvolumeclaims", claim, DELETED)["requests.storage"] == Quantity.parse(used)


@pytest.mark.parametrize(
    ("operator", "values", "classes"),
    [
        ("Exists", [], {"spec", "current", "target"}),
        ("DoesNotExist", [], {"none"}),
        ("In", ["gold"], {"spec", "current", "target"}),
        ("In", ["silver"], set()),
        ("NotIn", ["gold"], {"none"}),
    ],
)
def test_a_claim_is_in_the_scope_of_every_class_that_it_names(
    operator: str, values: list[str], classes: set[str]
) -> None:
    claims: dict[str, Any] = {
        "none": {},
        "spec": {"spec": {"volumeAttributesClassName": "gold"}},
        "current": {"status": {"currentVolumeAttributesClassName": "gold"}},
        "target": {"status": {"modifyVolumeStatus": {"targetVolumeAttributesClassName": "gold"}}},
    }
    expression = {"scopeName": "VolumeAttributesClass", "operator": operator, "values": values}
    spec = {"scopeSelector": {"matchExpressions": [expression]}}
    assert {name for name, each in claims.items() if is_in_scope(spec, "persistentvolumeclaims", each)} == classes
    assert not is_in_scope(spec, "pods", {})
