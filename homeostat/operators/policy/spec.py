"""What a policy may say: the spec that `DevOpsPolicy` and `ClusterDevOpsPolicy` share.

Every field may be left out, and what is left out is not checked; `false` is the same as absent. Fields of the later
half go beyond the original and change nothing where they are not used. Pure data: what a field means is said by the
module that reads it.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from homeostat.objects.crd.field_meta import keyed
from homeostat.objects.report.report import Severity
from homeostat.objects.schema.schema import Rule as SchemaRule

Mode = Literal["audit", "enforce"]
Scoring = Literal["plain", "severity"]
AdmissionMode = Literal["deny", "warn", "off"]
Pin = Literal["tag", "digest"]
Amount = Literal["cpuRequest", "cpuLimit", "memoryRequest", "memoryLimit"]

Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Interval = Annotated[int, Meta(ge=1, le=86400)]
Seconds = Annotated[int, Meta(ge=0, le=2**53)]
Weight = Annotated[int, Meta(ge=0, le=1000)]
Score = Annotated[int, Meta(ge=0, le=100)]
PortNumber = Annotated[int, Meta(ge=1, le=65535)]
Text = Annotated[str, Meta(min_length=1, max_length=1024)]
Cel = Annotated[str, Meta(min_length=1, max_length=4096)]
Label = Annotated[str, Meta(max_length=317)]


def _said(text: str) -> Meta:
    """For `kubectl explain`."""
    return Meta(description=text)


class Part(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A piece of a spec or of a status: what is absent is not written."""


class DefaultProbe(Part, frozen=True, kw_only=True):
    """A probe of a port where nobody listens kills the container, so no port is guessed unless one is named here."""

    tcp_port: Annotated[
        PortNumber | None, _said("The port to probe in every container. Default: its first TCP port.")
    ] = None
    fallback_port: Annotated[
        PortNumber | None,
        _said("The port to probe where a container declares no TCP port. Without it, such a container gets no probe."),
    ] = None
    initial_delay_seconds: Annotated[Count | None, _said("Seconds before the first probe. Default: 5.")] = None
    period_seconds: Annotated[Count | None, _said("Seconds between two probes. Default: 10.")] = None


class DefaultResources(Part, frozen=True, kw_only=True):
    cpu_request: Annotated[Text | None, _said("Default: 100m.")] = None
    cpu_limit: Annotated[Text | None, _said("Default: 500m.")] = None
    memory_request: Annotated[Text | None, _said("Default: 128Mi.")] = None
    memory_limit: Annotated[Text | None, _said("Default: 256Mi.")] = None


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

    __rules__: ClassVar[tuple[SchemaRule, ...]] = (
        SchemaRule(
            "self.healthy >= self.stable && self.stable >= self.degraded", "the thresholds must be in descending order"
        ),
    )

    healthy: Annotated[Score, _said("The lowest score that is Healthy.")] = 80
    stable: Annotated[Score, _said("The lowest score that is Stable.")] = 60
    degraded: Annotated[Score, _said("The lowest score that is Degraded; lower scores are Critical.")] = 40


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

    reason: Annotated[Text, _said("The reason for the exemption.")]
    expires: Annotated[
        Annotated[str, Meta(extra_json_schema={"format": "date-time"})] | None,
        _said("When the exemption ends. Without it, the exemption never ends."),
    ] = None
    checks: Annotated[tuple[Text, ...], _said("Types of checks, such as latest_tag, or names of rules.")] = ()
    names: Annotated[tuple[Text, ...], _said("Patterns that match the names of Pods or workloads.")] = ()
    containers: Annotated[tuple[Text, ...], _said("Names of containers.")] = ()
    selector: Annotated[Selector | None, _said("Labels of Pods.")] = None


class Rule(Part, frozen=True, kw_only=True):
    """A check of one's own: a CEL expression over `object`, the Pod, that holds for good ones."""

    name: Annotated[
        str,
        Meta(pattern="^[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?$"),
        _said("The name of the rule; its findings have this type."),
    ]
    expression: Annotated[Cel, _said("A CEL expression over object, the Pod, that is true for Pods that comply.")]
    message: Annotated[Text | None, _said("The message of a finding.")] = None
    message_expression: Annotated[
        Cel | None, _said("A CEL expression that gives the message. If it fails, message is used.")
    ] = None
    severity: Annotated[Severity, _said("The severity of a finding.")] = "medium"
    weight: Annotated[Weight, _said("The points that a finding costs.")] = 3


class Admission(Part, frozen=True, kw_only=True):
    """Without a mode, a policy that enforces denies what it cannot inject itself, and one that audits warns."""

    mode: Annotated[
        AdmissionMode | None,
        _said(
            "deny, warn or off. Default: a policy that audits warns; a policy that enforces denies everything "
            "that it cannot inject itself."
        ),
    ] = None
    severity: Annotated[
        Severity, _said("The lowest severity that is denied. Findings of a lower severity only warn.")
    ] = "low"


class Enforcement(Part, frozen=True, kw_only=True):
    dry_run: Annotated[
        bool, _said("Change nothing; status.plannedChanges lists the changes that would be applied.")
    ] = False
    cooldown_seconds: Annotated[
        Seconds, _said("Seconds to wait before a workload that was changed back is patched again.")
    ] = 300


class AuditResults(Part, frozen=True, kw_only=True):
    retention: Annotated[int, Meta(ge=0, le=1000), _said("The number of PolicyAuditResults to keep; 0 keeps none.")] = (
        10
    )
    max_violations: Annotated[int, Meta(ge=0, le=1000), _said("The number of violations that each result lists.")] = 100


_ENFORCE = (
    "enforce adds missing probes and resources to workloads; audit only reports. Workloads are found by "
    "their Pods: a workload without Pods is not changed."
)


class PolicySpec(Part, frozen=True, kw_only=True):
    forbid_latest_tag: Annotated[bool | None, _said("No image may end with :latest.")] = None
    require_liveness_probe: Annotated[bool | None, _said("Every container must have a liveness probe.")] = None
    require_readiness_probe: Annotated[bool | None, _said("Every container must have a readiness probe.")] = None
    max_restart_count: Annotated[Count | None, _said("The number of restarts that a container may have.")] = None
    forbid_pending_duration: Annotated[Seconds | None, _said("The seconds that a Pod may be Pending.")] = None
    enforcement_mode: Annotated[Mode | None, _said(_ENFORCE)] = None
    default_probe: Annotated[
        DefaultProbe | None, _said("The TCP probe that is added to containers without a probe.")
    ] = None
    default_resources: Annotated[
        DefaultResources | None, _said("The resources that are added to containers without resources.")
    ] = None
    severity_overrides: Annotated[
        SeverityOverrides | None, _said("Severities of checks that differ from the default.")
    ] = None

    untagged_is_latest: Annotated[bool | None, _said("An image without tag and digest counts as :latest.")] = None
    pending_ignores_age: Annotated[bool | None, _said("No Pod may be Pending, however young.")] = None
    require_resources: Annotated[
        tuple[Amount, ...], _said("The resources that every container must set; a limit counts as a request.")
    ] = ()
    require_run_as_non_root: Annotated[bool | None, _said("No container may run as root.")] = None
    forbid_privileged: Annotated[bool | None, _said("No container may be privileged.")] = None
    forbid_host_path: Annotated[bool | None, _said("No Pod may mount a path of its node.")] = None
    allowed_registries: Annotated[
        tuple[Text, ...], _said("Registries, or paths in registries, that images may come from.")
    ] = ()
    require_image_pin: Annotated[Pin | None, _said("Every image must have a digest, or at least a tag.")] = None
    min_replicas: Annotated[
        Count | None, _said("The least number of replicas that a workload may have, unless it is scaled to 0.")
    ] = None
    require_disruption_budget: Annotated[
        bool | None, _said("Every workload with more than one replica must have a PodDisruptionBudget.")
    ] = None
    forbid_crash_loop: Annotated[bool | None, _said("No container may be in CrashLoopBackOff.")] = None
    forbid_oom_killed: Annotated[bool | None, _said("No container may have been OOM-killed.")] = None
    rules: Annotated[tuple[Rule, ...], Meta(max_length=100), keyed("name"), _said("Your own checks, in CEL.")] = ()

    selector: Annotated[Selector | None, _said("Selects the Pods that the policy applies to. Default: all Pods.")] = (
        None
    )
    exemptions: Annotated[
        tuple[Exemption, ...], Meta(max_length=200), _said("Exemptions, and the reasons for them.")
    ] = ()
    scoring: Annotated[Scoring | None, _said("Whether the severity multiplies the points that a finding costs.")] = None
    weights: Annotated[Weights | None, _said("Points of checks that differ from the default.")] = None
    thresholds: Annotated[Thresholds | None, _said("The lowest score of each class.")] = None
    interval_seconds: Annotated[
        Interval | None, _said("Seconds between two evaluations when nothing changes. Default: 30.")
    ] = None
    admission: Annotated[Admission | None, _said("Settings of the admission webhook.")] = None
    enforcement: Annotated[Enforcement | None, _said("Settings of enforcement.")] = None
    audit_results: Annotated[AuditResults | None, _said("Settings of the audit results.")] = None

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

    namespace_selector: Annotated[
        Selector | None, _said("Selects the namespaces that the policy applies to. Default: all namespaces.")
    ] = None
