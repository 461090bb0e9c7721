"""What the metrics of one bound contract show, and their names. Pure.

Series labelled by service exist only for a contract that was loaded; those of readiness only for one that declares it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from homeostat.operators.contracts.engine.checks.evaluate import Evaluation
from homeostat.operators.contracts.engine.checks.verdict import ContractStatus, Severity
from homeostat.operators.contracts.engine.readiness import (
    BELOW_MIN_SCORE,
    EXPIRED,
    INVALID,
    SATISFIED,
    Assessment,
    statuses,
)

CONTRACT_STATUS: Final = "pacto_contract_status"
COMPLIANCE: Final = "pacto_contract_compliance_status"
ERRORS: Final = "pacto_contract_validation_errors"
WARNINGS: Final = "pacto_contract_validation_warnings"
RESULT: Final = "pacto_contract_validation_result"
READINESS_SCORE: Final = "pacto_readiness_score"
READINESS_GATE: Final = "pacto_readiness_gate"
READINESS_STATUS: Final = "pacto_readiness_status"
READINESS_CHECKS: Final = "pacto_readiness_checks"


class ReadinessFigures(msgspec.Struct, frozen=True, gc=False):
    score: int
    is_passing: bool
    reasons: tuple[tuple[str, bool], ...]
    counts: tuple[tuple[str, int], ...]


class Figures(msgspec.Struct, frozen=True, gc=False):
    """The part of an evaluation that metrics show: small, because one is kept for each Pacto."""

    status: ContractStatus
    service: str | None
    """None if no contract was loaded."""
    results: tuple[tuple[str, Severity, bool], ...] = ()
    """Check, severity, and whether it passed; without those that are pending."""
    readiness: ReadinessFigures | None = None
    drifts: tuple[tuple[str, Mapping[str, int]], ...] = ()
    """Changes of served OpenAPI documents, by interface and classification."""


def figures(evaluation: Evaluation, drifts: tuple[tuple[str, Mapping[str, int]], ...] = ()) -> Figures:
    results = ((each.check, each.severity, not each.is_failed or each.is_allowed) for each in evaluation.verdicts)
    known = {each.check for each in evaluation.verdicts if each.status != "Unknown"}
    return Figures(
        evaluation.status,
        None if evaluation.contract is None else evaluation.contract.service.name,
        tuple(each for each in results if each[0] in known),
        None if evaluation.readiness is None else _readiness_figures(evaluation.readiness),
        drifts,
    )


def _readiness_figures(readiness: Assessment) -> ReadinessFigures:
    reasons = (SATISFIED, BELOW_MIN_SCORE, EXPIRED if readiness.is_dated else INVALID)
    return ReadinessFigures(
        readiness.score,
        readiness.is_passing,
        tuple((reason, readiness.reason == reason) for reason in reasons),
        tuple((status, readiness.count(status)) for status in statuses(readiness)),
    )
