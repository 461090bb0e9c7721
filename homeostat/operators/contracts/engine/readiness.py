"""The readiness of a service: a score from declared checks, and whether it meets the gate. Pure.

In 1.1 each check expires on a day of its own; in 1.2 each check has a declared status and the whole assessment
expires. Days are UTC days, and the last day counts in full. Evidence is never fetched. A half is rounded up.
"""

from __future__ import annotations

from datetime import date, timedelta
from math import floor
from typing import Final

import msgspec

from homeostat.operators.contracts.engine.dates import parse_date
from homeostat.operators.contracts.engine.document.contract import V1_1, Check, Contract, Readiness, Revision

DEFAULT_MIN_SCORE: Final = 100
DEFAULT_PARTIAL_CREDIT: Final = 0.5

SATISFIED: Final = "Satisfied"
BELOW_MIN_SCORE: Final = "BelowMinScore"
EXPIRED: Final = "Expired"
INVALID: Final = "Invalid"
CURRENT: Final = "Current"


class CheckResult(msgspec.Struct, frozen=True):
    check: Check
    status: str
    """The declared one in 1.2; Current, Expired or Invalid in 1.1."""
    earned: int = 0
    is_excluded: bool = False
    days_remaining: int | None = None


class Assessment(msgspec.Struct, frozen=True, kw_only=True):
    """The result of all checks on one day. `is_dated` marks contract 1.2, whose assessment has one expiry date."""

    score: int
    min_score: int
    is_passing: bool
    reason: str
    total_weight: int
    earned_weight: int
    checks: tuple[CheckResult, ...]
    is_dated: bool
    expires: str = ""
    is_expired: bool = False
    days_remaining: int | None = None
    partial_credit: float = DEFAULT_PARTIAL_CREDIT
    history: tuple[Revision, ...] = ()

    def count(self, status: str) -> int:
        return sum(each.status == status for each in self.checks)


def assess(contract: Contract, today: date) -> Assessment | None:
    """Assess readiness; None for a contract without checks."""
    readiness = contract.readiness
    if readiness is None or not readiness.checks:
        return None
    return _assess_dated_checks(readiness, today) if contract.pacto_version == V1_1 else _assess_dated(readiness, today)


def first_day_unmet(contract: Contract, today: date) -> date | None:
    """Return the first day on which a gate that is met today is unmet; None if it is unmet already or stays met."""
    assessment = assess(contract, today)
    if assessment is None or not assessment.is_passing:
        return None
    if assessment.is_dated:
        return _day_after(parse_date(assessment.expires))
    current = assessment.earned_weight
    dated = sorted((each.check.expires, each.earned) for each in assessment.checks if each.status == CURRENT)
    for expires, weight in dated:
        current -= weight
        if _score(current, assessment.total_weight) < assessment.min_score:
            return _day_after(parse_date(expires))
    return None


def _day_after(day: date | None) -> date | None:
    return None if day is None or day == date.max else day + timedelta(days=1)


def describe_gate(assessment: Assessment) -> str:
    """Describe in one line why the gate is unmet."""
    counts = ", ".join(f"{assessment.count(each)} {each}" for each in statuses(assessment))
    cause = "the assessment has expired" if assessment.is_expired else "the score is below the gate"
    if assessment.reason == INVALID:
        cause = "a check has an invalid expiry date"
    return f"{cause}: score {assessment.score}, minScore {assessment.min_score} ({counts})"


def statuses(assessment: Assessment) -> tuple[str, ...]:
    return ("done", "partial", "not-done", "deferred") if assessment.is_dated else (CURRENT, EXPIRED, INVALID)


def round_half_up(number: float) -> int:
    return floor(number + 0.5)


def _assess_dated_checks(readiness: Readiness, today: date) -> Assessment:
    checks = tuple(_dated_check(each, today) for each in readiness.checks)
    total, current = sum(each.check.weight for each in checks), sum(each.earned for each in checks)
    score, min_score = _score(current, total), _min_score(readiness)
    is_passing = score >= min_score
    reason = INVALID if any(each.status == INVALID for each in checks) else BELOW_MIN_SCORE
    return Assessment(
        score=score,
        min_score=min_score,
        is_passing=is_passing,
        reason=SATISFIED if is_passing else reason,
        total_weight=total,
        earned_weight=current,
        checks=checks,
        is_dated=False,
    )


def _dated_check(check: Check, today: date) -> CheckResult:
    expires = parse_date(check.expires)
    if expires is None:
        return CheckResult(check, INVALID)
    if expires < today:
        return CheckResult(check, EXPIRED)
    return CheckResult(check, CURRENT, earned=check.weight, days_remaining=(expires - today).days)


def _assess_dated(readiness: Readiness, today: date) -> Assessment:
    expires = parse_date(readiness.expires)
    is_expired = expires is None or expires < today
    credit = DEFAULT_PARTIAL_CREDIT if readiness.partial_credit is None else readiness.partial_credit
    checks = tuple(
        _declared_check(each, credit=0 if is_expired else credit, full=not is_expired) for each in readiness.checks
    )
    total = sum(each.check.weight for each in checks if not each.is_excluded)
    earned = sum(each.earned for each in checks)
    score, min_score = _score(earned, total), _min_score(readiness)
    is_passing = not is_expired and score >= min_score
    return Assessment(
        score=score,
        min_score=min_score,
        is_passing=is_passing,
        reason=SATISFIED if is_passing else EXPIRED if is_expired else BELOW_MIN_SCORE,
        total_weight=total,
        earned_weight=earned,
        checks=checks,
        is_dated=True,
        expires=readiness.expires,
        is_expired=is_expired,
        days_remaining=None if expires is None or is_expired else (expires - today).days,
        partial_credit=credit,
        history=readiness.history,
    )


def _declared_check(check: Check, *, credit: float, full: bool) -> CheckResult:
    match check.status:
        case "deferred":
            return CheckResult(check, check.status, is_excluded=True)
        case "done":
            return CheckResult(check, check.status, earned=check.weight if full else 0)
        case "partial":
            return CheckResult(check, check.status, earned=round_half_up(check.weight * credit))
    return CheckResult(check, check.status)


def _score(earned: int, total: int) -> int:
    return round_half_up(100 * earned / total) if total else 0


def _min_score(readiness: Readiness) -> int:
    return DEFAULT_MIN_SCORE if readiness.min_score is None else readiness.min_score
