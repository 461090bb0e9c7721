"""The record of evaluations: which results to write and which old ones to drop. Pure.

Promises, each tested: nothing is written that the newest result already says; results come no faster than the policy's
interval; of one policy no more are kept than it asks for, the oldest go first; a result names at most so many
violations, and its numbers count them all. A policy of the cluster keeps a record in each namespace that it means, as
if it were declared there.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from math import inf

import msgspec

from homeostat.objects.declared import owner_reference
from homeostat.objects.json import JsonObject
from homeostat.objects.time.timestamp import TimestampError, format_time, parse_time
from homeostat.operators.policy.api import (
    CLUSTER_DEVOPS_POLICY,
    DEVOPS_POLICY,
    INTERVAL_S,
    POLICY_AUDIT_RESULT,
    AuditSpec,
    ClusterDevOpsPolicy,
    Policy,
    PolicyAuditResult,
    Violation,
)
from homeostat.operators.policy.engine.check import Finding
from homeostat.operators.policy.engine.score import classify
from homeostat.operators.policy.engine.totals import Totals
from homeostat.operators.policy.spec import AuditResults, PolicySpec

_USUAL = AuditResults()
_LONGEST_PREFIX, _LONGEST_MESSAGE = 230, 1024


class Record(msgspec.Struct, frozen=True):
    """What there is to say of one namespace, and the results that say what was before, the oldest first."""

    namespace: str
    totals: Totals
    violations: tuple[Violation, ...] = ()
    """The first of them; `totals` counts them all."""
    kept: tuple[PolicyAuditResult, ...] = ()


class RecordResult(msgspec.Struct, frozen=True):
    """Create it; that it exists already is as good."""

    namespace: str
    body: JsonObject


class DropResult(msgspec.Struct, frozen=True):
    """Delete it; that it is gone already is as good."""

    namespace: str
    name: str
    uid: str = ""


AuditAction = RecordResult | DropResult


def violation_of(key: str, finding: Finding) -> Violation:
    check = finding.check
    return Violation(key, finding.container, check.type, check.severity, finding.message[:_LONGEST_MESSAGE])


def most_violations(spec: PolicySpec) -> int:
    return (spec.audit_results or _USUAL).max_violations


def interval_s(spec: PolicySpec) -> int:
    return spec.interval_seconds or INTERVAL_S


def results_of(policy: Policy, kept: Iterable[PolicyAuditResult]) -> tuple[PolicyAuditResult, ...]:
    """Those of the policy among the results of a namespace, the oldest first.

    A policy of the cluster and one of the namespace may have one name: the owner tells them apart.
    """
    is_wide, name = isinstance(policy, ClusterDevOpsPolicy), policy.metadata.name
    ours = (each for each in kept if each.spec.policy_name == name and not each.is_terminating)
    return tuple(sorted((each for each in ours if _is_of_cluster(each) == is_wide), key=_age))


def due_at(policy: Policy, record: Record, *, now: datetime) -> float:
    """When there is something to do about the record, in seconds since the epoch; infinity while all is said."""
    if len(record.kept) > _retention(policy):
        return 0.0
    return _news_at(policy, record, now)


def plan_audit(policy: Policy, record: Record, *, now: datetime) -> tuple[AuditAction, ...]:
    actions: list[AuditAction] = []
    if _news_at(policy, record, now) <= now.timestamp():
        actions.append(RecordResult(record.namespace, _body(policy, record, now)))
    excess = max(len(record.kept) + len(actions) - _retention(policy), 0)
    drops = (DropResult(record.namespace, each.metadata.name, each.metadata.uid) for each in record.kept[:excess])
    return (*actions, *drops)


def _retention(policy: Policy) -> int:
    return (policy.spec.audit_results or _USUAL).retention


def _news_at(policy: Policy, record: Record, now: datetime) -> float:
    """When a result may be written; infinity where there is nothing new to say."""
    if not _retention(policy):
        return inf
    if not record.kept:
        # Of the many namespaces of a cluster, those that never had Pods need no record of it.
        return inf if isinstance(policy, ClusterDevOpsPolicy) and not record.totals.pods else 0.0
    newest, result = record.kept[-1], _audit_of(policy, record, now)
    if msgspec.structs.replace(newest.spec, timestamp=result.timestamp, cluster_name=result.cluster_name) == result:
        return inf
    written = _time_of(newest)
    return 0.0 if written > now.timestamp() else written + interval_s(policy.spec)


def _age(result: PolicyAuditResult) -> tuple[float, str]:
    return _time_of(result), result.metadata.name


def _time_of(result: PolicyAuditResult) -> float:
    try:
        return parse_time(result.spec.timestamp).timestamp()
    except TimestampError:
        return 0.0


def _is_of_cluster(result: PolicyAuditResult) -> bool:
    return any(each.kind == CLUSTER_DEVOPS_POLICY.kind.kind for each in result.metadata.owner_references)


def _audit_of(policy: Policy, record: Record, now: datetime) -> AuditSpec:
    spec, totals = policy.spec, record.totals
    return AuditSpec(
        policy_name=policy.metadata.name,
        timestamp=format_time(now),
        health_score=totals.score,
        total_violations=totals.violations,
        total_pods=totals.pods,
        classification=classify(totals.score, spec.thresholds),
        violations=record.violations[: most_violations(spec)],
    )


def _body(policy: Policy, record: Record, now: datetime) -> JsonObject:
    kind, owner = POLICY_AUDIT_RESULT.kind, policy.metadata
    is_wide = isinstance(policy, ClusterDevOpsPolicy)
    # Where a name is cut, a dot may be left at its end, which may not stand before a dash.
    prefix = owner.name[:_LONGEST_PREFIX].rstrip(".-")
    scope = "-cluster" if is_wide else ""
    reference = owner_reference((CLUSTER_DEVOPS_POLICY if is_wide else DEVOPS_POLICY).kind, owner)
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {
            "name": f"{prefix}{scope}-{int(now.timestamp() * 1000)}",
            "namespace": record.namespace,
            "ownerReferences": [reference],
        },
        "spec": msgspec.to_builtins(_audit_of(policy, record, now)),
    }
