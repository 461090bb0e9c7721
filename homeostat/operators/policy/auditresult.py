"""The record of evaluations: which results to write and which old ones to drop. Pure.

Promises, each tested: nothing is written that the newest result already says; results come no faster than the policy's
interval; of one policy no more are kept than it asks for, the oldest go first; a result names at most so many
violations, and its numbers count them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from homeostat.objects.declared import Metadata, owner_reference
from homeostat.objects.json import JsonObject
from homeostat.objects.timestamp import TimestampError, format_time, parse_time
from homeostat.operators.policy.api import (
    DEVOPS_POLICY,
    INTERVAL_S,
    POLICY_AUDIT_RESULT,
    AuditSpec,
    PolicyAuditResult,
    Violation,
)
from homeostat.operators.policy.check import Finding
from homeostat.operators.policy.score import classify
from homeostat.operators.policy.spec import AuditResults, PolicySpec
from homeostat.operators.policy.tally import Totals

_USUAL = AuditResults()
_LONGEST_PREFIX, _LONGEST_MESSAGE = 230, 1024


class RecordResult(msgspec.Struct, frozen=True):
    """Create it; that it exists already is as good."""

    body: JsonObject


class DropResult(msgspec.Struct, frozen=True):
    """Delete it; that it is gone already is as good."""

    name: str
    uid: str = ""


AuditAction = RecordResult | DropResult


def violation_of(key: str, finding: Finding) -> Violation:
    check = finding.check
    return Violation(key, finding.container, check.type, check.severity, finding.message[:_LONGEST_MESSAGE])


def most_violations(spec: PolicySpec) -> int:
    return (spec.audit_results or _USUAL).max_violations


def audit_of(
    policy: str, spec: PolicySpec, totals: Totals, violations: Iterable[Violation], *, now: datetime
) -> AuditSpec:
    return AuditSpec(
        policy_name=policy,
        timestamp=format_time(now),
        health_score=totals.score,
        total_violations=totals.violations,
        total_pods=totals.pods,
        classification=classify(totals.score, spec.thresholds),
        violations=tuple(violations)[: most_violations(spec)],
    )


def plan_audit(
    owner: Metadata, spec: PolicySpec, result: AuditSpec, kept: Sequence[PolicyAuditResult], *, now: datetime
) -> tuple[AuditAction, ...]:
    """`kept` are the results of the namespace, of whatever policy."""
    ours = sorted((each for each in kept if each.spec.policy_name == owner.name and not each.is_terminating), key=_age)
    retention = (spec.audit_results or _USUAL).retention
    actions: list[AuditAction] = []
    if retention and _is_news(result, ours[-1] if ours else None, spec, now):
        actions.append(RecordResult(_body(owner, result, now)))
    excess = len(ours) + len(actions) - retention
    actions += [DropResult(each.metadata.name, each.metadata.uid) for each in ours[: max(excess, 0)]]
    return tuple(actions)


def _age(result: PolicyAuditResult) -> tuple[float, str]:
    return _time_of(result), result.metadata.name


def _time_of(result: PolicyAuditResult) -> float:
    try:
        return parse_time(result.spec.timestamp).timestamp()
    except TimestampError:
        return 0.0


def _is_news(result: AuditSpec, newest: PolicyAuditResult | None, spec: PolicySpec, now: datetime) -> bool:
    if newest is None:
        return True
    if msgspec.structs.replace(newest.spec, timestamp=result.timestamp, cluster_name=result.cluster_name) == result:
        return False
    return not 0 <= now.timestamp() - _time_of(newest) < (spec.interval_seconds or INTERVAL_S)


def _body(owner: Metadata, result: AuditSpec, now: datetime) -> JsonObject:
    kind = POLICY_AUDIT_RESULT.kind
    # Where a name is cut, a dot may be left at its end, which may not stand before a dash.
    prefix = owner.name[:_LONGEST_PREFIX].rstrip(".-")
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {
            "name": f"{prefix}-{int(now.timestamp() * 1000)}",
            "namespace": owner.namespace,
            "ownerReferences": [owner_reference(DEVOPS_POLICY.kind, owner)],
        },
        "spec": msgspec.to_builtins(result),
    }
