"""The kinds of this operator, as the original names them: `DevOpsPolicy`, `PolicyAuditResult`, `ClusterDevOpsPolicy`.

The spec of a policy is defined in `spec.py`. The status has the fields of the original first, then our own.
`violations` is a number.
"""

from __future__ import annotations

from sys import intern
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from homeostat.objects.crd.custom_kind import AGE_COLUMN, READY_COLUMN, Column, CustomKind, Status
from homeostat.objects.declared import Declared
from homeostat.objects.kind import Kind
from homeostat.objects.memory.pool import Pool
from homeostat.objects.report.report import Severity
from homeostat.operators.policy.spec import ClusterPolicySpec, Count, Mode, Part, PolicySpec, Score

GROUP: Final = "devops.stochastic.io"
FINALIZER: Final = f"{GROUP}/cleanup"
PATCHED_BY: Final = f"{GROUP}/patched-by"
OPERATOR: Final = "kube-devops-operator"
PATCHED_AT: Final = f"{GROUP}/patched-at"
INJECTED: Final = f"{GROUP}/injected"
OPT_OUT: Final = f"{GROUP}/enforcement"
"""An annotation of a workload: with the value `disabled`, enforcement does not change the workload."""

HEALTHY: Final = "Healthy"
"""The type of the condition that says whether the score is high enough."""
INTERVAL_S: Final = 30
HEARTBEAT_S: Final = 300
"""The oldest that `lastEvaluated` becomes while nothing else changes."""
MOST_WORKLOADS: Final = 100
MOST_CHANGES: Final = 100
LONGEST_CHANGE: Final = 512
MOST_NAMESPACES: Final = 50

_Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]


class PolicyStatus(Status, frozen=True, omit_defaults=True):
    healthy: bool | None = None
    health_score: Score | None = None
    violations: Count | None = None
    last_evaluated: _Time | None = None
    message: str | None = None
    remediations_applied: Count | None = None
    remediations_failed: Count | None = None
    remediated_workloads: Annotated[tuple[str, ...], Meta(max_length=MOST_WORKLOADS)] = ()

    enforcement_mode: Annotated[
        Mode | None, Meta(description="The mode in effect: audit, unless the spec says enforce.")
    ] = None
    classification: str | None = None
    pods: Count | None = None
    exempted: Count | None = None
    planned_remediations: Annotated[tuple[str, ...], Meta(max_length=MOST_WORKLOADS)] = ()
    planned_changes: Annotated[
        tuple[Annotated[str, Meta(max_length=LONGEST_CHANGE)], ...],
        Meta(
            max_length=MOST_CHANGES,
            description="Changes that a dry run would apply: workload, path of the field, value.",
        ),
    ] = ()
    containers_without_port: Annotated[
        tuple[str, ...],
        Meta(
            max_length=MOST_WORKLOADS,
            description="Containers without a probe that cannot get one because no port is known.",
        ),
    ] = ()


class NamespaceScore(Part, frozen=True):
    name: str
    health_score: Score
    pods: Count
    violations: Count


class ClusterPolicyStatus(PolicyStatus, frozen=True, omit_defaults=True):
    namespaces: Annotated[tuple[NamespaceScore, ...], Meta(max_length=MOST_NAMESPACES)] = ()
    """The namespaces with the lowest scores."""


class DevOpsPolicy(Declared, frozen=True):
    spec: PolicySpec = PolicySpec()


class ClusterDevOpsPolicy(Declared, frozen=True):
    spec: ClusterPolicySpec = ClusterPolicySpec()


Policy = DevOpsPolicy | ClusterDevOpsPolicy


class Violation(msgspec.Struct, frozen=True, rename="camel"):
    pod_name: str
    container_name: str
    violation_type: str
    severity: Severity
    message: str


def _interned(violation: Violation) -> Violation:
    pod, container, type_, severity, message = msgspec.structs.astuple(violation)
    return Violation(pod, intern(container), intern(type_), severity, intern(message))


_violations = Pool[Violation](65_536, _interned)
"""Consecutive results have mostly the same violations, so equal ones are stored once."""


class AuditSpec(Part, frozen=True, kw_only=True):
    """The result of one evaluation."""

    policy_name: str
    cluster_name: str | None = None
    timestamp: _Time
    health_score: Score
    total_violations: Count
    total_pods: Count
    classification: str
    violations: Annotated[tuple[Violation, ...], Meta(max_length=1000)] = ()

    def __post_init__(self) -> None:
        if self.violations:
            msgspec.structs.force_setattr(self, "violations", tuple(map(_violations.share, self.violations)))


class PolicyAuditResult(Declared, frozen=True):
    spec: AuditSpec


_COLUMNS = (
    Column("Score", ".status.healthScore", "integer"),
    Column("Healthy", ".status.healthy", "boolean"),
    Column("Violations", ".status.violations", "integer"),
    Column("Mode", ".status.enforcementMode"),
    READY_COLUMN,
    # Not `.status.message`, which is about the last evaluation: the condition also says why a policy is stalled.
    Column("Message", '.status.conditions[?(@.type=="Ready")].message', priority=1),
    AGE_COLUMN,
)

DEVOPS_POLICY = CustomKind(
    Kind(GROUP, "v1", "devopspolicies", "DevOpsPolicy", is_namespaced=True, short_names=("dop",)),
    spec=PolicySpec,
    status=PolicyStatus,
    columns=_COLUMNS,
    description="Rules for the Pods of a namespace, and how well the Pods comply.",
)
CLUSTER_DEVOPS_POLICY = CustomKind(
    Kind(GROUP, "v1", "clusterdevopspolicies", "ClusterDevOpsPolicy", is_namespaced=False, short_names=("cdop",)),
    spec=ClusterPolicySpec,
    status=ClusterPolicyStatus,
    columns=_COLUMNS,
    description="Rules for the Pods of many namespaces, and how well the Pods comply.",
)
POLICY_AUDIT_RESULT = CustomKind(
    Kind(GROUP, "v1", "policyauditresults", "PolicyAuditResult", is_namespaced=True, short_names=("par",)),
    spec=AuditSpec,
    status=None,
    columns=(
        Column("Policy", ".spec.policyName"),
        Column("Score", ".spec.healthScore", "integer"),
        Column("Violations", ".spec.totalViolations", "integer"),
        Column("Class", ".spec.classification"),
        AGE_COLUMN,
    ),
    description="The recorded result of one evaluation of a policy.",
    written_by="nobody",
)
KINDS: Final = (DEVOPS_POLICY, CLUSTER_DEVOPS_POLICY, POLICY_AUDIT_RESULT)
