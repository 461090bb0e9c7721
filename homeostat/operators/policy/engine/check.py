"""A check: its type, weight, severity, message and remedy; and a finding of a check.

The table below defines all built-in checks. A policy has copies with its own weights and severities
(`Check.for_policy`), so that a finding knows the points that it costs.
"""

from __future__ import annotations

from typing import Final

import msgspec

from homeostat.objects.report.report import Severity
from homeostat.operators.policy.spec import PolicySpec

MULTIPLIERS: Final[dict[Severity, int]] = {"critical": 3, "high": 2, "medium": 1, "low": 1}
_RANKS: Final[dict[Severity, int]] = {"low": 0, "medium": 1, "high": 2, "critical": 3}


def is_at_least(severity: Severity, bound: Severity) -> bool:
    return _RANKS[severity] >= _RANKS[bound]


class Check(msgspec.Struct, frozen=True, gc=False):
    type: str
    weight: int
    severity: Severity
    text: str
    """May name `{container}` and `{fact}`."""
    points: int = 0
    """The points that a unit costs: the weight, times the multiplier of the severity with `scoring: severity`."""
    remedy: str = ""
    """What to change: where, and the YAML to merge in there, whose values are examples. A CEL rule has none."""

    def for_policy(self, spec: PolicySpec) -> Check:
        """The check with the weight and severity of the policy; a CEL rule keeps its own."""
        weight: int | None = getattr(spec.weights, self.type, None)
        severity: Severity = getattr(spec.severity_overrides, self.type, None) or self.severity
        weight = self.weight if weight is None else weight
        points = weight * MULTIPLIERS[severity] if spec.scoring == "severity" else weight
        return Check(self.type, weight, severity, self.text, points, self.remedy)


class Finding(msgspec.Struct, frozen=True, gc=False):
    """One violation. Most are one unit; `container` is empty for the Pod itself."""

    check: Check
    container: str = ""
    fact: str = ""
    units: int = 1

    @property
    def message(self) -> str:
        return self.check.text.format(container=self.container, fact=self.fact)


LATEST_TAG = Check(
    "latest_tag",
    5,
    "high",
    "container '{container}' uses :latest tag",
    remedy="in the container, a version: {image: registry.example.com/app:1.4.2}",
)
MISSING_LIVENESS = Check(
    "missing_liveness",
    3,
    "medium",
    "container '{container}' missing liveness probe",
    remedy="in the container, a path and port of its own: {livenessProbe: {httpGet: {path: /healthz, port: 8080}}}",
)
MISSING_READINESS = Check(
    "missing_readiness",
    2,
    "low",
    "container '{container}' missing readiness probe",
    remedy="in the container, a path and port of its own: {readinessProbe: {httpGet: {path: /readyz, port: 8080}}}",
)
HIGH_RESTARTS = Check(
    "high_restarts",
    6,
    "critical",
    "container '{container}' has {fact}",
    remedy="read why it ended: homeostat describe pod NAME -n NAMESPACE, last state",
)
PENDING = Check(
    "pending",
    4,
    "medium",
    "pod is in Pending phase",
    remedy="read why it has no Node: homeostat describe pod NAME -n NAMESPACE, events",
)
MISSING_RESOURCES = Check(
    "missing_resources",
    3,
    "medium",
    "container '{container}' sets no {fact}",
    remedy="in the container, measured values: "
    "{resources: {requests: {cpu: 100m, memory: 128Mi}, limits: {cpu: 500m, memory: 256Mi}}}",
)
RUN_AS_ROOT = Check(
    "run_as_root",
    5,
    "high",
    "container '{container}' {fact}",
    remedy="in the container: {securityContext: {runAsNonRoot: true, runAsUser: 1000}}",
)
PRIVILEGED = Check(
    "privileged",
    6,
    "critical",
    "container '{container}' is privileged",
    remedy="in the container: {securityContext: {privileged: false}}; capabilities.add gives it single ones",
)
HOST_PATH = Check(
    "host_path",
    5,
    "high",
    "pod mounts the host's {fact}",
    remedy="in the Pod's spec.volumes, instead of hostPath: {emptyDir: {}}, or a persistentVolumeClaim",
)
FOREIGN_REGISTRY = Check(
    "foreign_registry",
    5,
    "high",
    "container '{container}' {fact}",
    remedy="copy the image to a registry of the policy's allowedRegistries, and name it in the container's image",
)
UNPINNED_IMAGE = Check(
    "unpinned_image",
    3,
    "medium",
    "container '{container}' {fact}",
    remedy="in the container, the digest of the image: {image: 'registry.example.com/app@sha256:DIGEST'}",
)
FEW_REPLICAS = Check(
    "few_replicas",
    3,
    "medium",
    "workload has {fact}",
    remedy="in the workload's spec, the minimum or more: {replicas: 3}",
)
MISSING_BUDGET = Check(
    "missing_budget",
    2,
    "low",
    "workload has no PodDisruptionBudget",
    remedy="create a PodDisruptionBudget with the labels of the Pods: "
    "{spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}}",
)
CRASH_LOOP = Check(
    "crash_loop",
    6,
    "critical",
    "container '{container}' is in CrashLoopBackOff",
    remedy="read why it ends: homeostat describe pod NAME -n NAMESPACE, last state and exit code",
)
OOM_KILLED = Check(
    "oom_killed",
    4,
    "high",
    "container '{container}' was OOM-killed",
    remedy="in the container, a higher limit: {resources: {limits: {memory: 512Mi}}}, unless it leaks memory",
)

CHECKS: Final = (
    LATEST_TAG,
    MISSING_LIVENESS,
    MISSING_READINESS,
    HIGH_RESTARTS,
    PENDING,
    MISSING_RESOURCES,
    RUN_AS_ROOT,
    PRIVILEGED,
    HOST_PATH,
    FOREIGN_REGISTRY,
    UNPINNED_IMAGE,
    FEW_REPLICAS,
    MISSING_BUDGET,
    CRASH_LOOP,
    OOM_KILLED,
)
"""All built-in checks. CEL rules have their name as type."""
