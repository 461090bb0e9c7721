"""A plan goes by the type that the operator goes by."""

from __future__ import annotations

import pytest

from homeostat.cli.plan.types import PlannedTypes
from tests.operators.actions.types.test_effective import TYPES


@pytest.mark.parametrize(("label", "expected"), [("", "v2"), ("v1", "v1"), ("v9", "v2")])
def test_a_stored_resource_is_planned_as_it_is_kept(label: str, expected: str) -> None:
    labels = {"homeostat.dev/type-version": label} if label else {}
    stored = {"apiVersion": "resources.homeostat.dev/v2", "kind": "Thing", "metadata": {"name": "a", "labels": labels}}
    assert PlannedTypes(TYPES, []).kept_by(stored).version == expected


def test_one_of_a_type_that_is_only_in_the_files_is_planned_as_they_say() -> None:
    stored = {"apiVersion": "resources.homeostat.dev/v1", "kind": "Thing", "metadata": {"name": "a"}}
    fresh = [each for each in TYPES if each.spec.version == "v1"]
    unseen = [type(each)(metadata=each.metadata, spec=each.spec) for each in fresh]
    assert PlannedTypes([], unseen).kept_by(stored).version == "v1"
