"""What an object uses of a quota."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from homeostat.objects.quantity import Quantity
from homeostat.server.admission.plugins.usage import is_in_scope, limited_names, usage_of

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


def test_a_claim_of_devices_uses_the_most_that_it_may_be_given() -> None:
    def asks(name: str, count: int = 0) -> dict[str, Any]:
        chosen = {"allocationMode": "ExactCount", "count": count} if count else {"allocationMode": "All"}
        return {"deviceClassName": name, **chosen}

    requests = [
        {"name": "a", "exactly": asks("gold", 2)},
        {"name": "b", "firstAvailable": [asks("gold", 3), asks("gold", 1), asks("silver")]},
    ]
    used = usage_of("resourceclaims.resource.k8s.io", {"spec": {"devices": {"requests": requests}}})
    suffix = "deviceclass.resource.k8s.io/devices"
    assert used == {
        "count/resourceclaims.resource.k8s.io": Quantity.parse("1"),
        f"gold.{suffix}": Quantity.parse("5"),
        f"silver.{suffix}": Quantity.parse("32"),
    }
    assert limited_names("resourceclaims.resource.k8s.io", ["pods", f"gold.{suffix}"]) == {f"gold.{suffix}"}


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
