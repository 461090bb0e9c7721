"""A check: its type, weight, severity and message; and a finding of a check.

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

    def for_policy(self, spec: PolicySpec) -> Check:
        """The check with the weight and severity of the policy; a CEL rule keeps its own."""
        weight: int | None = getattr(spec.weights, self.type, None)
        severity: Severity = getattr(spec.severity_overrides, self.type, None) or self.severity
        weight = self.weight if weight is None else weight
        points = weight * MULTIPLIERS[severity] if spec.scoring == "severity" else weight
        return Check(self.type, weight, severity, self.text, points)


class Finding(msgspec.Struct, frozen=True, gc=False):
    """One violation. Most are one unit; `container` is empty for the Pod itself."""

    check: Check
    container: str = ""
    fact: str = ""
    units: int = 1

    @property
    def message(self) -> str:
        return self.check.text.format(container=self.container, fact=self.fact)


LATEST_TAG = Check("latest_tag", 5, "high", "container '{container}' uses :latest tag")
MISSING_LIVENESS = Check("missing_liveness", 3, "medium", "container '{container}' missing liveness probe")
MISSING_READINESS = Check("missing_readiness", 2, "low", "container '{container}' missing readiness probe")
HIGH_RESTARTS = Check("high_restarts", 6, "critical", "container '{container}' has {fact}")
PENDING = Check("pending", 4, "medium", "pod is in Pending phase")
MISSING_RESOURCES = Check("missing_resources", 3, "medium", "container '{container}' sets no {fact}")
RUN_AS_ROOT = Check("run_as_root", 5, "high", "container '{container}' {fact}")
PRIVILEGED = Check("privileged", 6, "critical", "container '{container}' is privileged")
HOST_PATH = Check("host_path", 5, "high", "pod mounts the host's {fact}")
FOREIGN_REGISTRY = Check("foreign_registry", 5, "high", "container '{container}' {fact}")
UNPINNED_IMAGE = Check("unpinned_image", 3, "medium", "container '{container}' {fact}")
FEW_REPLICAS = Check("few_replicas", 3, "medium", "workload has {fact}")
MISSING_BUDGET = Check("missing_budget", 2, "low", "workload has no PodDisruptionBudget")
CRASH_LOOP = Check("crash_loop", 6, "critical", "container '{container}' is in CrashLoopBackOff")
OOM_KILLED = Check("oom_killed", 4, "high", "container '{container}' was OOM-killed")

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
