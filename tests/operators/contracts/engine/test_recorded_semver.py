"""Recorded choices of tags by constraints."""

from __future__ import annotations

from typing import Any

import pytest

from homeostat.objects.versions.constraint import InvalidConstraintError, best_tag
from tests.operators.contracts.recorded import recorded

_CASES: list[dict[str, Any]] = recorded("semver")


@pytest.mark.parametrize("case", _CASES, ids=lambda case: f"{case['constraint']} of {' '.join(case['tags'])}")
def test_a_constraint_chooses_the_recorded_tag(case: dict[str, Any]) -> None:
    assert _chosen(case) == case["expect"]


def _chosen(case: dict[str, Any]) -> str | None:
    try:
        return best_tag(case["tags"], case["constraint"])
    except InvalidConstraintError:
        return None
