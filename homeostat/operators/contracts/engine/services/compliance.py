"""How far a service complies: a status, a score and counts, from the conditions of its Pacto. Pure.

Only the checks of the operator count. Readiness has a score of its own, and other conditions say nothing about the
contract. A condition that is Unknown is neither passed nor failed.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import floor
from typing import Final, Literal

import msgspec

from homeostat.operators.contracts.engine.checks.verdict import (
    COMPLIANT,
    NON_COMPLIANT,
    REFERENCE,
    SEVERITIES,
    Severity,
)

ComplianceStatus = Literal["OK", "WARNING", "ERROR", "REFERENCE"]


class Seen(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A condition, as far as it is shown."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class Described(msgspec.Struct, frozen=True):
    """What people read for a type of condition."""

    category: str
    label: str


CATALOGUE: Final[dict[str, Described]] = {
    "ContractValid": Described("contract", "Contract is valid"),
    "ReadinessSatisfied": Described("readiness", "Readiness gate is met"),
    "RuntimeObserved": Described("runtime", "Cluster was observed"),
    "ServiceExists": Described("resources", "Service exists"),
    "WorkloadExists": Described("resources", "Workload exists"),
    "PortsValid": Described("networking", "Ports match"),
    "WorkloadTypeMatch": Described("runtime", "Workload type matches"),
    "StateModelMatch": Described("runtime", "State model matches"),
    "UpgradeStrategyMatch": Described("lifecycle", "Upgrade strategy matches"),
    "GracefulShutdownMatch": Described("lifecycle", "Graceful shutdown matches"),
    "ImageMatch": Described("image", "Image matches"),
    "HealthTimingMatch": Described("health", "Health probe delay matches"),
    "HealthEndpointValid": Described("health", "Health endpoint answers"),
    "MetricsEndpointValid": Described("metrics", "Metrics endpoint answers"),
}


class Compliance(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    status: ComplianceStatus
    score: int | None
    """From 0 to 100; None if nothing was checked, or there is nothing to check."""
    total: int = 0
    passed: int = 0
    failed: int = 0
    errors: int = 0
    warnings: int = 0


def severity_of(check: str) -> Severity:
    return SEVERITIES.get(check, "error")


def compliance_of(status: str, conditions: Iterable[Seen]) -> Compliance:
    """`status` is the contract status of the Pacto; empty for one that was not reconciled yet."""
    if status == REFERENCE:
        return Compliance(status="REFERENCE", score=None)
    known = [each for each in conditions if each.type in SEVERITIES and each.status in ("True", "False")]
    failed = [severity_of(each.type) for each in known if each.status == "False"]
    errors, warnings = failed.count("error"), failed.count("warning")
    passed = len(known) - len(failed)
    return Compliance(
        status=_status(status, errors, warnings),
        score=floor(100 * passed / len(known) + 0.5) if known else None,
        total=len(known),
        passed=passed,
        failed=len(failed),
        errors=errors,
        warnings=warnings,
    )


def _status(status: str, errors: int, warnings: int) -> ComplianceStatus:
    if errors or status == NON_COMPLIANT:
        return "ERROR"
    return "WARNING" if warnings or status != COMPLIANT else "OK"
