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

    tcp_port: Annotated[PortNumber | None, _said("To probe in every container; else its first TCP port.")] = None
    fallback_port: Annotated[
        PortNumber | None, _said("To probe where a container declares no TCP port; without it that one gets no probe.")
    ] = None
    initial_delay_seconds: Annotated[Count | None, _said("Before the first probe; 5 unless told.")] = None
    period_seconds: Annotated[Count | None, _said("Between two probes; 10 unless told.")] = None


class DefaultResources(Part, frozen=True, kw_only=True):
    cpu_request: Annotated[Text | None, _said("100m unless told.")] = None
    cpu_limit: Annotated[Text | None, _said("500m unless told.")] = None
    memory_request: Annotated[Text | None, _said("128Mi unless told.")] = None
    memory_limit: Annotated[Text | None, _said("256Mi unless told.")] = None


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
        SchemaRule("self.healthy >= self.stable && self.stable >= self.degraded", "the thresholds must descend"),
    )

    healthy: Annotated[Score, _said("From here on Healthy.")] = 80
    stable: Annotated[Score, _said("From here on Stable.")] = 60
    degraded: Annotated[Score, _said("From here on Degraded; below it is Critical.")] = 40


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

    reason: Annotated[Text, _said("Why, for those who come later.")]
    expires: Annotated[
        Annotated[str, Meta(extra_json_schema={"format": "date-time"})] | None, _said("When it ends; never without it.")
    ] = None
    checks: Annotated[tuple[Text, ...], _said("Checks by their type, latest_tag, or rules by their name.")] = ()
    names: Annotated[tuple[Text, ...], _said("Patterns of Pods' or workloads' names.")] = ()
    containers: Annotated[tuple[Text, ...], _said("Names of containers.")] = ()
    selector: Annotated[Selector | None, _said("Labels of Pods.")] = None


class Rule(Part, frozen=True, kw_only=True):
    """A check of one's own: a CEL expression over `object`, the Pod, that holds for good ones."""

    name: Annotated[str, Meta(pattern="^[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?$"), _said("The type of its findings.")]
    expression: Annotated[Cel, _said("In CEL over object, the Pod; true for good ones.")]
    message: Annotated[Text | None, _said("What is told where it does not hold.")] = None
    message_expression: Annotated[Cel | None, _said("The same made by CEL; message where that fails.")] = None
    severity: Annotated[Severity, _said("How grave a finding is.")] = "medium"
    weight: Annotated[Weight, _said("How many points a finding costs.")] = 3


class Admission(Part, frozen=True, kw_only=True):
    """Without a mode, a policy that enforces denies what it does not put right itself, and one that audits warns."""

    mode: Annotated[
        AdmissionMode | None,
        _said(
            "deny, warn, or off to say nothing; without it a policy that audits warns, and one that enforces denies "
            "all but what it is going to inject."
        ),
    ] = None
    severity: Annotated[Severity, _said("The least that is denied; findings less grave than this only warn.")] = "low"


class Enforcement(Part, frozen=True, kw_only=True):
    dry_run: Annotated[bool, _said("Change nothing; status.plannedChanges says what would be injected.")] = False
    cooldown_seconds: Annotated[Seconds, _said("Before a workload that was changed back is patched again.")] = 300


class AuditResults(Part, frozen=True, kw_only=True):
    retention: Annotated[int, Meta(ge=0, le=1000), _said("How many PolicyAuditResults to keep; 0 for none.")] = 10
    max_violations: Annotated[int, Meta(ge=0, le=1000), _said("How many violations each of them lists.")] = 100


_ENFORCE = (
    "Whether to put probes and resources right (enforce), or only to tell (audit). "
    "Workloads are found by their Pods: one without Pods is not looked at."
)


class PolicySpec(Part, frozen=True, kw_only=True):
    forbid_latest_tag: Annotated[bool | None, _said("No image may end with :latest.")] = None
    require_liveness_probe: Annotated[bool | None, _said("Every container has a liveness probe.")] = None
    require_readiness_probe: Annotated[bool | None, _said("Every container has a readiness probe.")] = None
    max_restart_count: Annotated[Count | None, _said("Containers that restarted more often are found.")] = None
    forbid_pending_duration: Annotated[Seconds | None, _said("Seconds that a Pod may be Pending.")] = None
    enforcement_mode: Annotated[Mode | None, _said(_ENFORCE)] = None
    default_probe: Annotated[DefaultProbe | None, _said("The TCP probe that containers without one get.")] = None
    default_resources: Annotated[DefaultResources | None, _said("What containers without resources get.")] = None
    severity_overrides: Annotated[SeverityOverrides | None, _said("How grave a check is, other than usual.")] = None

    untagged_is_latest: Annotated[bool | None, _said("An image without tag and digest counts as :latest.")] = None
    pending_ignores_age: Annotated[bool | None, _said("Any Pending Pod is found, however young.")] = None
    require_resources: Annotated[tuple[Amount, ...], _said("What every container sets; a limit is a request too.")] = ()
    require_run_as_non_root: Annotated[bool | None, _said("No container may run as root.")] = None
    forbid_privileged: Annotated[bool | None, _said("No container may be privileged.")] = None
    forbid_host_path: Annotated[bool | None, _said("No Pod may mount a path of its node.")] = None
    allowed_registries: Annotated[tuple[Text, ...], _said("Registries, or paths in them, of images.")] = ()
    require_image_pin: Annotated[Pin | None, _said("Every image has a digest, or at least a tag.")] = None
    min_replicas: Annotated[Count | None, _said("Workloads with fewer replicas, but any, are found.")] = None
    require_disruption_budget: Annotated[bool | None, _said("Every scaled workload has a PodDisruptionBudget.")] = None
    forbid_crash_loop: Annotated[bool | None, _said("No container may be in CrashLoopBackOff.")] = None
    forbid_oom_killed: Annotated[bool | None, _said("No container may have been killed for lack of memory.")] = None
    rules: Annotated[tuple[Rule, ...], Meta(max_length=100), keyed("name"), _said("Checks of your own, in CEL.")] = ()

    selector: Annotated[Selector | None, _said("Which Pods are meant; without it all.")] = None
    exemptions: Annotated[tuple[Exemption, ...], Meta(max_length=200), _said("What is let off, and why.")] = ()
    scoring: Annotated[Scoring | None, _said("Whether severity multiplies what a finding costs.")] = None
    weights: Annotated[Weights | None, _said("What a finding costs, other than usual.")] = None
    thresholds: Annotated[Thresholds | None, _said("The lowest score of each class.")] = None
    interval_seconds: Annotated[Interval | None, _said("How often to look anyway; 30 unless told.")] = None
    admission: Annotated[Admission | None, _said("What the admission webhook does.")] = None
    enforcement: Annotated[Enforcement | None, _said("How enforcement goes about it.")] = None
    audit_results: Annotated[AuditResults | None, _said("How much is kept for the record.")] = None

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

    namespace_selector: Annotated[Selector | None, _said("Which namespaces are meant; without it all.")] = None
