"""What `kubectl explain` shows of a policy's fields."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from homeostat.objects.crd.custom_kind import CustomKind
from homeostat.objects.json import JsonObject
from homeostat.operators.policy.api import CLUSTER_DEVOPS_POLICY, DEVOPS_POLICY

SAID_BY_THEIR_PARENT = ("weights", "severityOverrides", "selector", "namespaceSelector")


def unexplained(schema: JsonObject, path: str = "") -> Iterator[str]:
    for name, field in schema.get("properties", {}).items():
        if not field.get("description"):
            yield f"{path}{name}"
        if name not in SAID_BY_THEIR_PARENT:
            yield from unexplained(field.get("items") or field, f"{path}{name}.")


@pytest.mark.parametrize("kind", [DEVOPS_POLICY, CLUSTER_DEVOPS_POLICY], ids=lambda each: each.kind.kind)
def test_every_field_that_a_policy_may_set_is_explained(kind: CustomKind) -> None:
    assert list(unexplained(kind.schema()["properties"]["spec"])) == []
