"""The verdict of a check, and the contract status that results from all verdicts. Pure.

A failed check of severity error makes a contract NonCompliant, a failed check of severity warning makes it Warning. A
verdict that is Unknown does not lower the status.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

import msgspec

from homeostat.objects.conditions import Condition, Status

Severity = Literal["error", "warning"]
ContractStatus = Literal["Compliant", "Warning", "NonCompliant", "Reference", "Unknown"]

COMPLIANT: Final = "Compliant"
WARNING: Final = "Warning"
NON_COMPLIANT: Final = "NonCompliant"
REFERENCE: Final = "Reference"
UNKNOWN: Final = "Unknown"
STATUSES: Final[tuple[ContractStatus, ...]] = (COMPLIANT, WARNING, NON_COMPLIANT, REFERENCE, UNKNOWN)

CONTRACT_VALID: Final = "ContractValid"
READINESS_SATISFIED: Final = "ReadinessSatisfied"
READINESS_EXPIRING: Final = "ReadinessExpiring"
RUNTIME_OBSERVED: Final = "RuntimeObserved"

CONTAINER_IMAGES: Final = "ContainerImagesMatch"
SCALING: Final = "ScalingMatch"
DEPENDENCIES: Final = "DependenciesCompatible"
OPENAPI: Final = "OpenApiMatch"

SEVERITIES: Final[dict[str, Severity]] = {
    CONTRACT_VALID: "error",
    RUNTIME_OBSERVED: "error",
    "ServiceExists": "error",
    "WorkloadExists": "error",
    "PortsValid": "warning",
    "WorkloadTypeMatch": "error",
    "StateModelMatch": "error",
    "UpgradeStrategyMatch": "warning",
    "GracefulShutdownMatch": "warning",
    "ImageMatch": "warning",
    "HealthTimingMatch": "warning",
    "HealthEndpointValid": "warning",
    "MetricsEndpointValid": "warning",
    CONTAINER_IMAGES: "warning",
    SCALING: "warning",
    DEPENDENCIES: "warning",
    OPENAPI: "warning",
}
"""By check, in the order in which they are reported."""
OF_SERVICE: Final = ("ServiceExists", "PortsValid", "HealthEndpointValid", "MetricsEndpointValid")
"""The checks that are about the Service of a target; the others are about its workload."""

MAX_CHANGES: Final = 20
"""Of a served document, shown of one interface."""


class Verdict(msgspec.Struct, frozen=True):
    check: str
    """The type of its condition."""
    status: Status
    reason: str
    message: str
    level: Severity | None = None
    """Replaces the usual severity of the check."""
    is_allowed: bool = False
    """Whether a failure does not lower the status."""

    @property
    def severity(self) -> Severity:
        return self.level or SEVERITIES[self.check]

    @property
    def is_failed(self) -> bool:
        return self.status == "False"

    def condition(self) -> Condition:
        return Condition(self.check, self.status, self.reason, self.message)


def judge(check: str, holds: bool, message: str, *, reason: str = "", good: str = "Match") -> Verdict:
    """Return True with the reason `good`, or False with `reason`, which defaults to Mismatch."""
    return Verdict(check, "True", good, message) if holds else Verdict(check, "False", reason or "Mismatch", message)


def contract_status(verdicts: Iterable[Verdict]) -> ContractStatus:
    failed = {each.severity for each in verdicts if each.is_failed and not each.is_allowed}
    return NON_COMPLIANT if "error" in failed else WARNING if failed else COMPLIANT
