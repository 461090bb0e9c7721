"""What a policy may say: the spec that `DevOpsPolicy` and `ClusterDevOpsPolicy` share.

Every field may be left out, and what is left out is not checked; `false` is the same as absent. Fields of the later
half go beyond the original and change nothing where they are not used. Pure data: what a field means is said by the
module that reads it.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Severity = Literal["critical", "high", "medium", "low"]
Mode = Literal["audit", "enforce"]
Scoring = Literal["plain", "severity"]
AdmissionMode = Literal["deny", "warn", "off"]
Pin = Literal["tag", "digest"]
Amount = Literal["cpuRequest", "cpuLimit", "memoryRequest", "memoryLimit"]

Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Seconds = Annotated[int, Meta(ge=0, le=2**53)]
Weight = Annotated[int, Meta(ge=0, le=1000)]
Score = Annotated[int, Meta(ge=0, le=100)]
Text = Annotated[str, Meta(min_length=1, max_length=1024)]
Label = Annotated[str, Meta(max_length=317)]


class Part(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A piece of a spec or of a status: what is absent is not written."""


class DefaultProbe(Part, frozen=True, kw_only=True):
    tcp_port: Annotated[int, Meta(ge=1, le=65535)] | None = None
    initial_delay_seconds: Count | None = None
    period_seconds: Count | None = None


class DefaultResources(Part, frozen=True, kw_only=True):
    cpu_request: Text | None = None
    cpu_limit: Text | None = None
    memory_request: Text | None = None
    memory_limit: Text | None = None


class SeverityOverrides(Part, frozen=True, kw_only=True):
    latest_tag: Severity | None = None
    missing_liveness: Severity | None = None
    missing_readiness: Severity | None = None
    high_restarts: Severity | None = None
    pending: Severity | None = None
    missing_resources: Severity | None = None
    run_as_root: Severity | None = None
    privileged: Severity | None = None
    host_path: Severity | None = None
    foreign_registry: Severity | None = None
    unpinned_image: Severity | None = None
    few_replicas: Severity | None = None
    missing_budget: Severity | None = None
    crash_loop: Severity | None = None
    oom_killed: Severity | None = None


class Weights(Part, frozen=True, kw_only=True):
    """How many points a unit of each check takes from a Pod; what is absent keeps the check's own weight."""

    latest_tag: Weight | None = None
    missing_liveness: Weight | None = None
    missing_readiness: Weight | None = None
    high_restarts: Weight | None = None
    pending: Weight | None = None
    missing_resources: Weight | None = None
    run_as_root: Weight | None = None
    privileged: Weight | None = None
    host_path: Weight | None = None
    foreign_registry: Weight | None = None
    unpinned_image: Weight | None = None
    few_replicas: Weight | None = None
    missing_budget: Weight | None = None
    crash_loop: Weight | None = None
    oom_killed: Weight | None = None


class Thresholds(Part, frozen=True, kw_only=True):
    """The lowest score of each class; below the last is Critical."""

    healthy: Score = 80
    stable: Score = 60
    degraded: Score = 40


class MatchExpression(Part, frozen=True, kw_only=True):
    key: Label
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: tuple[Label, ...] = ()


class Selector(Part, frozen=True, kw_only=True):
    """A LabelSelector of Kubernetes."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[MatchExpression, ...] = ()


class Exemption(Part, frozen=True, kw_only=True):
    """What is let off, why, and until when. Of what is absent everything is meant.

    `names` are patterns with `*` and `?` of Pods or of the workloads they belong to.
    """

    reason: Text
    expires: Annotated[str, Meta(extra_json_schema={"format": "date-time"})] | None = None
    checks: tuple[Text, ...] = ()
    names: tuple[Text, ...] = ()
    containers: tuple[Text, ...] = ()
    selector: Selector | None = None


class Rule(Part, frozen=True, kw_only=True):
    """A check of one's own: a CEL expression over `object`, the Pod, that holds for good ones."""

    name: Annotated[str, Meta(pattern="^[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?$")]
    expression: Annotated[str, Meta(min_length=1, max_length=4096)]
    message: Text | None = None
    message_expression: Annotated[str, Meta(min_length=1, max_length=4096)] | None = None
    severity: Severity = "medium"
    weight: Weight = 3


class Admission(Part, frozen=True, kw_only=True):
    """Without a mode, a policy that enforces denies and one that audits warns."""

    mode: AdmissionMode | None = None
    severity: Severity = "low"
    """Findings below it are warnings."""


class Enforcement(Part, frozen=True, kw_only=True):
    dry_run: bool = False
    cooldown_seconds: Seconds = 300


class AuditResults(Part, frozen=True, kw_only=True):
    retention: Annotated[int, Meta(ge=0, le=1000)] = 10
    max_violations: Annotated[int, Meta(ge=0, le=1000)] = 100


class PolicySpec(Part, frozen=True, kw_only=True):
    forbid_latest_tag: bool | None = None
    require_liveness_probe: bool | None = None
    require_readiness_probe: bool | None = None
    max_restart_count: Count | None = None
    forbid_pending_duration: Seconds | None = None
    enforcement_mode: Mode | None = None
    default_probe: DefaultProbe | None = None
    default_resources: DefaultResources | None = None
    severity_overrides: SeverityOverrides | None = None

    untagged_is_latest: bool | None = None
    pending_ignores_age: bool | None = None
    require_resources: tuple[Amount, ...] = ()
    require_run_as_non_root: bool | None = None
    forbid_privileged: bool | None = None
    forbid_host_path: bool | None = None
    allowed_registries: tuple[Text, ...] = ()
    require_image_pin: Pin | None = None
    min_replicas: Count | None = None
    require_disruption_budget: bool | None = None
    forbid_crash_loop: bool | None = None
    forbid_oom_killed: bool | None = None
    rules: Annotated[tuple[Rule, ...], Meta(max_length=100)] = ()

    selector: Selector | None = None
    exemptions: Annotated[tuple[Exemption, ...], Meta(max_length=200)] = ()
    scoring: Scoring | None = None
    weights: Weights | None = None
    thresholds: Thresholds | None = None
    interval_seconds: Annotated[int, Meta(ge=1, le=86400)] | None = None
    admission: Admission | None = None
    enforcement: Enforcement | None = None
    audit_results: AuditResults | None = None

    @property
    def is_enforced(self) -> bool:
        return self.enforcement_mode == "enforce"


POLICY_FREE = PolicySpec(
    forbid_latest_tag=True,
    require_liveness_probe=True,
    require_readiness_probe=True,
    max_restart_count=3,
    forbid_pending_duration=0,
    pending_ignores_age=True,
)
"""What is looked at where nobody declared a policy: the five original checks."""


class ClusterPolicySpec(PolicySpec, frozen=True, kw_only=True):
    """The same for every namespace that the selector matches, but never for a system namespace."""

    namespace_selector: Selector | None = None
