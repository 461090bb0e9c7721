"""The score of readiness, its gate and its expiry."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from homeostat.operators.contracts.engine.document.contract import V1_1, V1_2, Check, Contract, Readiness
from homeostat.operators.contracts.engine.readiness import Assessment, assess, first_day_unmet

_TODAY = date(2026, 6, 8)


def _dated(*checks: tuple[int, str], min_score: int | None = None) -> Assessment:
    declared = tuple(Check(id=f"c{place}", weight=weight, expires=day) for place, (weight, day) in enumerate(checks))
    contract = Contract(pacto_version=V1_1, readiness=Readiness(min_score=min_score, checks=declared))
    found = assess(contract, _TODAY)
    assert found is not None
    return found


def _declared(*checks: tuple[int, str], expires: str = "2026-12-31", **fields: Any) -> Assessment:
    declared = tuple(
        Check(id=f"c{place}", weight=weight, status=status) for place, (weight, status) in enumerate(checks)
    )
    contract = Contract(pacto_version=V1_2, readiness=Readiness(expires=expires, checks=declared, **fields))
    found = assess(contract, _TODAY)
    assert found is not None
    return found


def test_current_checks_earn_their_weight() -> None:
    found = _dated((40, "2026-12-31"), (20, "2026-09-30"), (20, "2026-01-15"))
    assert (found.total_weight, found.earned_weight, found.score, found.count("Expired")) == (80, 60, 75, 1)
    assert found.reason == "BelowMinScore"


def test_an_invalid_date_is_the_reason_before_the_score() -> None:
    found = _dated((50, "2026-12-31"), (50, "2026-02-30"))
    assert (found.score, found.reason) == (50, "Invalid")


def test_the_last_day_counts() -> None:
    found = _dated((1, "2026-06-08"))
    assert [(each.status, each.days_remaining) for each in found.checks] == [("Current", 0)]
    assert found.is_passing


@pytest.mark.parametrize(("min_score", "is_passing"), [(60, True), (70, False), (0, True)])
def test_the_gate_is_met_at_its_score(min_score: int, is_passing: bool) -> None:
    assert _dated((60, "2026-12-31"), (40, "2026-01-01"), min_score=min_score).is_passing is is_passing


def test_without_weight_the_score_is_zero() -> None:
    found = _dated((0, "2026-12-31"))
    assert (found.score, found.is_passing) == (0, False)


@pytest.mark.parametrize(
    ("checks", "fields", "total", "earned", "score"),
    [
        ([(30, "done"), (20, "partial"), (10, "not-done"), (40, "deferred")], {}, 60, 40, 67),
        ([(30, "done"), (20, "partial"), (40, "deferred")], {}, 50, 40, 80),
        ([(40, "partial")], {"partial_credit": 0.25}, 40, 10, 25),
        ([(60, "done"), (20, "partial"), (20, "deferred")], {}, 80, 70, 88),
        ([(20, "done"), (15, "partial"), (25, "not-done"), (10, "deferred")], {}, 60, 28, 47),
        ([(10, "deferred")], {}, 0, 0, 0),
        ([(10, "unheard-of")], {}, 10, 0, 0),
    ],
)
def test_a_declared_status_earns(
    checks: list[tuple[int, str]], fields: dict[str, Any], total: int, earned: int, score: int
) -> None:
    found = _declared(*checks, **fields)
    assert (found.total_weight, found.earned_weight, found.score) == (total, earned, score)


@pytest.mark.parametrize("expires", ["2026-06-07", "2026-13-40", ""])
def test_an_expired_assessment_earns_nothing(expires: str) -> None:
    found = _declared((50, "done"), (50, "partial"), expires=expires, min_score=0)
    assert (found.score, found.reason, found.is_passing, found.days_remaining) == (0, "Expired", False, None)


def test_a_contract_without_checks_has_no_assessment() -> None:
    assert assess(Contract(pacto_version=V1_2), _TODAY) is None
    assert assess(Contract(pacto_version=V1_2, readiness=Readiness()), _TODAY) is None


def test_the_day_on_which_the_gate_drops_is_known_before() -> None:
    declared = (
        Check(id="a", weight=40, expires="2026-12-31"),
        Check(id="b", weight=30, expires="2026-09-30"),
        Check(id="c", weight=30, expires="2026-07-01"),
    )
    contract = Contract(pacto_version=V1_1, readiness=Readiness(min_score=50, checks=declared))
    assert first_day_unmet(contract, _TODAY) == date(2026, 10, 1)
    assert first_day_unmet(contract, date(2026, 10, 1)) is None
    lenient = Contract(pacto_version=V1_1, readiness=Readiness(min_score=0, checks=declared))
    assert first_day_unmet(lenient, _TODAY) is None


def test_an_assessment_drops_the_gate_after_its_last_day() -> None:
    checks = (Check(id="a", weight=1, status="done"),)
    contract = Contract(pacto_version=V1_2, readiness=Readiness(expires="2026-06-08", checks=checks))
    assert first_day_unmet(contract, _TODAY) == date(2026, 6, 9)
    endless = Contract(pacto_version=V1_2, readiness=Readiness(expires="9999-12-31", checks=checks))
    assert first_day_unmet(endless, _TODAY) is None
