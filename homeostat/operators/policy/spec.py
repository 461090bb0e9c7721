"""The spec that `DevOpsPolicy` and `ClusterDevOpsPolicy` share.

Every field is optional; an absent field, or `false`, turns its check off. The fields from `untaggedIsLatest` on go
beyond the original. Pure data: the module that reads a field documents its meaning.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal

import msgspec
from msgspec import Meta

from homeostat.objects.crd.field_meta import keyed
from homeostat.objects.report.report import Severity
from homeostat.objects.schema.schema import Rule as SchemaRule

Mode = Literal["audit", "enforce"]
Scoring = Literal["plain", "severity"]
AdmissionMode = Literal["deny", "warn", "off", "auto"]
Pin = Literal["tag", "digest"]
Amount = Literal["cpuRequest", "cpuLimit", "memoryRequest", "memoryLimit"]

MOST_EXPRESSIONS: Final = 20
MOST_VALUES: Final = 100
MOST_REGISTRIES: Final = 500
"""The author of a policy must not slow down its evaluation."""

Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Interval = Annotated[int, Meta(ge=1, le=86400)]
Seconds = Annotated[int, Meta(ge=0, le=2**53)]
Weight = Annotated[int, Meta(ge=0, le=1000)]
Score = Annotated[int, Meta(ge=0, le=100)]
PortNumber = Annotated[int, Meta(ge=1, le=65535)]
Text = Annotated[str, Meta(min_length=1, max_length=1024)]
Cel = Annotated[str, Meta(min_length=1, max_length=4096)]
Label = Annotated[str, Meta(max_length=317)]


def _doc(text: str) -> Meta:
    """The description that `kubectl explain` shows."""
    return Meta(description=text)


class Part(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A part of a spec or of a status: absent fields are not written."""


class DefaultProbe(Part, frozen=True, kw_only=True):
    """A probe of a port without a listener kills the container, so no port is guessed without `fallbackPort`."""

    tcp_port: Annotated[
        PortNumber | None, _doc("The port to probe in every container. Default: its first TCP port.")
    ] = None
    fallback_port: Annotated[
        PortNumber | None,
        _doc("The port to probe where a container declares no TCP port. Without it, such a container gets no probe."),
    ] = None
    initial_delay_seconds: Annotated[Count | None, _doc("Seconds before the first probe. Default: 5.")] = None
    period_seconds: Annotated[Count | None, _doc("Seconds between two probes. Default: 10.")] = None


class DefaultResources(Part, frozen=True, kw_only=True):
    cpu_request: Annotated[Text | None, _doc("Default: 100m.")] = None
    cpu_limit: Annotated[Text | None, _doc("Default: 500m.")] = None
    memory_request: Annotated[Text | None, _doc("Default: 128Mi.")] = None
    memory_limit: Annotated[Text | None, _doc("Default: 256Mi.")] = None


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
    """The points that a unit of each check costs; an absent check keeps its own weight."""

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
    """The lowest score of each class; lower scores are Critical."""

    __rules__: ClassVar[tuple[SchemaRule, ...]] = (
        SchemaRule(
            "self.healthy >= self.stable && self.stable >= self.degraded", "the thresholds must be in descending order"
        ),
    )

    healthy: Annotated[Score, _doc("The lowest score that is Healthy.")] = 80
    stable: Annotated[Score, _doc("The lowest score that is Stable.")] = 60
    degraded: Annotated[Score, _doc("The lowest score that is Degraded; lower scores are Critical.")] = 40


class MatchExpression(Part, frozen=True, kw_only=True):
    key: Label
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: Annotated[tuple[Label, ...], Meta(max_length=MOST_VALUES)] = ()


class Selector(Part, frozen=True, kw_only=True):
    """A LabelSelector of Kubernetes."""

    match_labels: Annotated[dict[str, str], Meta(max_length=MOST_EXPRESSIONS)] = {}
    match_expressions: Annotated[tuple[MatchExpression, ...], Meta(max_length=MOST_EXPRESSIONS)] = ()


class Exemption(Part, frozen=True, kw_only=True):
    """Findings that do not count, why, and until when. An absent field matches everything.

    `names` are patterns with `*` and `?` for names of Pods or of their workloads.
    """

    reason: Annotated[Text, _doc("The reason for the exemption.")]
    expires: Annotated[
        Annotated[str, Meta(extra_json_schema={"format": "date-time"})] | None,
        _doc("When the exemption ends. Without it, the exemption never ends."),
    ] = None
    checks: Annotated[
        tuple[Text, ...], Meta(max_length=MOST_VALUES), _doc("Types of checks, such as latest_tag, or names of rules.")
    ] = ()
    names: Annotated[
        tuple[Text, ...], Meta(max_length=MOST_VALUES), _doc("Patterns that match the names of Pods or workloads.")
    ] = ()
    containers: Annotated[tuple[Text, ...], Meta(max_length=MOST_VALUES), _doc("Names of containers.")] = ()
    selector: Annotated[Selector | None, _doc("Labels of Pods.")] = None


class Rule(Part, frozen=True, kw_only=True):
    """A user-defined check: a CEL expression over `object`, the Pod, that is true for Pods that comply."""

    name: Annotated[
        str,
        Meta(pattern="^[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?$"),
        _doc("The name of the rule; its findings have this type."),
    ]
    expression: Annotated[Cel, _doc("A CEL expression over object, the Pod, that is true for Pods that comply.")]
    message: Annotated[Text | None, _doc("The message of a finding.")] = None
    message_expression: Annotated[
        Cel | None, _doc("A CEL expression that gives the message. If it fails, message is used.")
    ] = None
    severity: Annotated[Severity, _doc("The severity of a finding.")] = "medium"
    weight: Annotated[Weight, _doc("The points that a finding costs.")] = 3


class Admission(Part, frozen=True, kw_only=True):
    """Without a mode, every policy denies, as in the original: in mode audit too."""

    mode: Annotated[
        AdmissionMode | None,
        _doc(
            "deny, warn, off or auto. With auto, a policy that audits warns, and a policy that enforces denies what "
            "it cannot inject itself. Default: deny, but warn in a dry run of enforcement."
        ),
    ] = None
    severity: Annotated[
        Severity, _doc("The lowest severity that is denied. Findings of a lower severity only warn.")
    ] = "low"


class Enforcement(Part, frozen=True, kw_only=True):
    dry_run: Annotated[bool, _doc("Change nothing; status.plannedChanges lists the changes that would be applied.")] = (
        False
    )
    cooldown_seconds: Annotated[
        Seconds, _doc("Seconds to wait before a workload that was changed back is patched again.")
    ] = 300


class AuditResults(Part, frozen=True, kw_only=True):
    retention: Annotated[int, Meta(ge=0, le=1000), _doc("The number of PolicyAuditResults to keep; 0 keeps none.")] = 10
    max_violations: Annotated[int, Meta(ge=0, le=1000), _doc("The number of violations that each result lists.")] = 100


_ENFORCE = (
    "enforce adds missing probes and resources to workloads; audit only reports. Workloads are found by "
    "their Pods: a workload without Pods is not changed."
)


class PolicySpec(Part, frozen=True, kw_only=True):
    forbid_latest_tag: Annotated[bool | None, _doc("No image may end with :latest.")] = None
    require_liveness_probe: Annotated[bool | None, _doc("Every container must have a liveness probe.")] = None
    require_readiness_probe: Annotated[bool | None, _doc("Every container must have a readiness probe.")] = None
    max_restart_count: Annotated[Count | None, _doc("The number of restarts that a container may have.")] = None
    forbid_pending_duration: Annotated[Seconds | None, _doc("The seconds that a Pod may be Pending.")] = None
    enforcement_mode: Annotated[Mode | None, _doc(_ENFORCE)] = None
    default_probe: Annotated[
        DefaultProbe | None, _doc("The TCP probe that is added to containers without a probe.")
    ] = None
    default_resources: Annotated[
        DefaultResources | None, _doc("The resources that are added to containers without resources.")
    ] = None
    severity_overrides: Annotated[
        SeverityOverrides | None, _doc("Severities of checks that differ from the default.")
    ] = None

    probes_for_jobs: Annotated[
        bool | None,
        _doc(
            "Whether the Pods of Jobs need probes too. Default: yes for Pods, live and at admission, as in "
            "kube-devops; no for Jobs and CronJobs in files."
        ),
    ] = None
    untagged_is_latest: Annotated[bool | None, _doc("An image without tag and digest counts as :latest.")] = None
    pending_ignores_age: Annotated[bool | None, _doc("No Pod may be Pending, however young.")] = None
    require_resources: Annotated[
        tuple[Amount, ...], _doc("The resources that every container must set; a limit counts as a request.")
    ] = ()
    require_run_as_non_root: Annotated[bool | None, _doc("No container may run as root.")] = None
    forbid_privileged: Annotated[bool | None, _doc("No container may be privileged.")] = None
    forbid_host_path: Annotated[bool | None, _doc("No Pod may mount a path of its node.")] = None
    allowed_registries: Annotated[
        tuple[Text, ...],
        Meta(max_length=MOST_REGISTRIES),
        _doc("Registries, or paths in registries, that images may come from."),
    ] = ()
    require_image_pin: Annotated[Pin | None, _doc("Every image must have a digest, or at least a tag.")] = None
    min_replicas: Annotated[
        Count | None, _doc("The least number of replicas that a workload may have, unless it is scaled to 0.")
    ] = None
    require_disruption_budget: Annotated[
        bool | None, _doc("Every workload with more than one replica must have a PodDisruptionBudget.")
    ] = None
    forbid_crash_loop: Annotated[bool | None, _doc("No container may be in CrashLoopBackOff.")] = None
    forbid_oom_killed: Annotated[bool | None, _doc("No container may have been OOM-killed.")] = None
    rules: Annotated[tuple[Rule, ...], Meta(max_length=100), keyed("name"), _doc("Your own checks, in CEL.")] = ()

    selector: Annotated[Selector | None, _doc("Selects the Pods that the policy applies to. Default: all Pods.")] = None
    exemptions: Annotated[
        tuple[Exemption, ...], Meta(max_length=200), _doc("Exemptions, and the reasons for them.")
    ] = ()
    scoring: Annotated[Scoring | None, _doc("Whether the severity multiplies the points that a finding costs.")] = None
    weights: Annotated[Weights | None, _doc("Points of checks that differ from the default.")] = None
    thresholds: Annotated[Thresholds | None, _doc("The lowest score of each class.")] = None
    interval_seconds: Annotated[
        Interval | None, _doc("Seconds between two evaluations when nothing changes. Default: 30.")
    ] = None
    admission: Annotated[Admission | None, _doc("Settings of the admission webhook.")] = None
    enforcement: Annotated[Enforcement | None, _doc("Settings of enforcement.")] = None
    audit_results: Annotated[AuditResults | None, _doc("Settings of the audit results.")] = None

    @property
    def is_enforced(self) -> bool:
        return self.enforcement_mode == "enforce"


ORIGINAL_CHECKS = PolicySpec(
    forbid_latest_tag=True,
    require_liveness_probe=True,
    require_readiness_probe=True,
    max_restart_count=3,
    forbid_pending_duration=0,
    pending_ignores_age=True,
)
"""The five checks of the original, for evaluations without a policy."""


class ClusterPolicySpec(PolicySpec, frozen=True, kw_only=True):
    """The same for every namespace that the selector matches, but never for a system namespace."""

    namespace_selector: Annotated[
        Selector | None, _doc("Selects the namespaces that the policy applies to. Default: all namespaces.")
    ] = None
