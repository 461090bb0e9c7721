"""Shows a readiness assessment as JSON fields and as text. Pure."""

from __future__ import annotations

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.operators.contracts.engine.readiness import CURRENT, EXPIRED, INVALID, Assessment, CheckResult


def readiness_fields(assessment: Assessment) -> JsonObject:
    """Return all fields, including zeros; `daysRemaining` is omitted once expired."""
    shared: JsonObject = {
        "score": assessment.score,
        "minScore": assessment.min_score,
        "passing": assessment.is_passing,
        "totalWeight": assessment.total_weight,
    }
    if not assessment.is_dated:
        return shared | {
            "currentWeight": assessment.earned_weight,
            "currentCount": assessment.count(CURRENT),
            "expiredCount": assessment.count(EXPIRED),
            "invalidCount": assessment.count(INVALID),
            "checks": [_dated_check(each) for each in assessment.checks],
        }
    days = {} if assessment.days_remaining is None else {"daysRemaining": assessment.days_remaining}
    return shared | {
        "earnedWeight": assessment.earned_weight,
        "partialCredit": assessment.partial_credit,
        "expires": assessment.expires,
        "expired": assessment.is_expired,
        **days,
        "doneCount": assessment.count("done"),
        "partialCount": assessment.count("partial"),
        "notDoneCount": assessment.count("not-done"),
        "deferredCount": assessment.count("deferred"),
        "revisions": [msgspec.to_builtins(each) for each in assessment.history],
        "checks": [_declared_check(each) for each in assessment.checks],
    }


def _dated_check(result: CheckResult) -> JsonObject:
    check = result.check
    days = {} if result.days_remaining is None else {"daysRemaining": result.days_remaining}
    described = {"description": check.description} if check.description else {}
    return {
        "id": check.id,
        "type": check.type,
        "evidence": check.evidence,
        "weight": check.weight,
        "expires": check.expires,
        **described,
        "status": result.status,
        **days,
    }


def _declared_check(result: CheckResult) -> JsonObject:
    check = result.check
    fields: JsonObject = {"id": check.id, "type": check.type}
    if check.category:
        fields["category"] = check.category
    fields |= {
        "status": check.status,
        "weight": check.weight,
        "earnedWeight": result.earned,
        "excluded": result.is_excluded,
        "evidence": check.evidence,
    }
    if check.description:
        fields["description"] = check.description
    return fields


def readiness_lines(assessment: Assessment) -> list[str]:
    gate = "PASS" if assessment.is_passing else "FAIL"
    lines = [
        "Readiness:",
        f"  Score: {assessment.score}",
        f"  Gate: {gate} (score {assessment.score} / minScore {assessment.min_score})",
        f"  {'Earned' if assessment.is_dated else 'Current'} Weight: {assessment.earned_weight}",
        f"  Total Weight: {assessment.total_weight}",
    ]
    return lines + (_declared_lines(assessment) if assessment.is_dated else _dated_lines(assessment))


def _declared_lines(assessment: Assessment) -> list[str]:
    left = "EXPIRED" if assessment.days_remaining is None else f"{assessment.days_remaining} days remaining"
    counts = ", ".join(f"{assessment.count(each)} {each}" for each in ("done", "partial", "not-done", "deferred"))
    lines = [f"  Expires: {assessment.expires} ({left})", f"  Status: {counts}", "", "  Checks:"]
    for result in assessment.checks:
        check = result.check
        excluded = " (excluded)" if result.is_excluded else ""
        weights = f"weight={check.weight} earned={result.earned}{excluded}"
        lines.append(
            f"    - {check.id:<16} {check.category or '—':<14} {check.status:<9} {weights} evidence={check.evidence}"
        )
    if assessment.history:
        lines += ["", "  Revision History:"]
        lines += [
            f"    - {each.date}  v{each.version}  {each.author}: {each.description}" for each in assessment.history
        ]
    return lines


def _dated_lines(assessment: Assessment) -> list[str]:
    counts = (
        f"{assessment.count(CURRENT)} current, {assessment.count(EXPIRED)} expired, {assessment.count(INVALID)} invalid"
    )
    lines = [f"  Status: {counts}", "", "  Checks:"]
    for each in assessment.checks:
        check = each.check
        weight = f"weight={check.weight} expires={check.expires}"
        lines.append(f"    - {check.id:<16} {each.status:<9} {weight} evidence={check.evidence}")
    return lines
