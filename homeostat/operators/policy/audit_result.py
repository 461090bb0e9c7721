"""Decides which PolicyAuditResults to create and which old ones to delete. Pure.

Promises, each tested: a result equal to the newest one is not written; a policy writes at most one result in an
interval; at most `retention` results of a policy are kept, and the oldest are deleted first; a result lists at most
`maxViolations` violations, and its totals count all of them. A ClusterDevOpsPolicy writes results in each namespace
that it selects, as if it were declared there.
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

_DEFAULTS = AuditResults()
_LONGEST_PREFIX, _LONGEST_MESSAGE = 230, 1024


class Record(msgspec.Struct, frozen=True):
    """The totals of one namespace, and the results that exist already, the oldest first."""

    namespace: str
    totals: Totals
    violations: tuple[Violation, ...] = ()
    """The first violations; `totals` counts all of them."""
    kept: tuple[PolicyAuditResult, ...] = ()


class CreateResult(msgspec.Struct, frozen=True):
    """Create the result, unless it exists."""

    namespace: str
    body: JsonObject

    def __str__(self) -> str:
        return f"create PolicyAuditResult {self.namespace}/{self.body['metadata']['name']}"


class DeleteResult(msgspec.Struct, frozen=True):
    """Delete the result, unless it is gone."""

    namespace: str
    name: str
    uid: str = ""

    def __str__(self) -> str:
        return f"delete PolicyAuditResult {self.namespace}/{self.name}"


AuditAction = CreateResult | DeleteResult


def violation_of(key: str, finding: Finding) -> Violation:
    check = finding.check
    return Violation(key, finding.container, check.type, check.severity, finding.message[:_LONGEST_MESSAGE])


def most_violations(spec: PolicySpec) -> int:
    return (spec.audit_results or _DEFAULTS).max_violations


def interval_s(spec: PolicySpec) -> int:
    return spec.interval_seconds or INTERVAL_S


def results_of(policy: Policy, kept: Iterable[PolicyAuditResult]) -> tuple[PolicyAuditResult, ...]:
    """The results of the policy among those of a namespace, the oldest first.

    A ClusterDevOpsPolicy and a DevOpsPolicy may have the same name: the owner reference distinguishes them.
    """
    is_cluster_policy, name = isinstance(policy, ClusterDevOpsPolicy), policy.metadata.name
    ours = (each for each in kept if each.spec.policy_name == name and not each.is_terminating)
    return tuple(sorted((each for each in ours if _is_of_cluster(each) == is_cluster_policy), key=_age))


def due_at(policy: Policy, record: Record, *, now: datetime) -> float:
    """When to write or delete a result, in seconds since the epoch; infinity if none is."""
    if len(record.kept) > _retention(policy):
        return 0.0
    return _write_at(policy, record, now)


def plan_audit(policy: Policy, record: Record, *, now: datetime) -> tuple[AuditAction, ...]:
    actions: list[AuditAction] = []
    if _write_at(policy, record, now) <= now.timestamp():
        actions.append(CreateResult(record.namespace, _body(policy, record, now)))
    excess = max(len(record.kept) + len(actions) - _retention(policy), 0)
    drops = (DeleteResult(record.namespace, each.metadata.name, each.metadata.uid) for each in record.kept[:excess])
    return (*actions, *drops)


def _retention(policy: Policy) -> int:
    return (policy.spec.audit_results or _DEFAULTS).retention


def _write_at(policy: Policy, record: Record, now: datetime) -> float:
    """When to write the next result; infinity if it would equal the newest one."""
    if not _retention(policy):
        return inf
    if not record.kept:
        # A ClusterDevOpsPolicy writes no results for namespaces that never had Pods.
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
    is_cluster_policy = isinstance(policy, ClusterDevOpsPolicy)
    # A truncated name may end with a dot, and a dot before a dash is not a valid name.
    prefix = owner.name[:_LONGEST_PREFIX].rstrip(".-")
    scope = "-cluster" if is_cluster_policy else ""
    reference = owner_reference((CLUSTER_DEVOPS_POLICY if is_cluster_policy else DEVOPS_POLICY).kind, owner)
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
