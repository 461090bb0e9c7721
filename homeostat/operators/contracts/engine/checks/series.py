"""The metrics of one bound contract, as samples. Pure.

Series labelled by service exist only for a contract that was loaded; those of readiness only for one that declares it.
The caller deletes series that are no longer returned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from homeostat.operators.contracts.engine.checks.evaluate import Evaluation
from homeostat.operators.contracts.engine.checks.verdict import STATUSES, Severity
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


class Sample(msgspec.Struct, frozen=True):
    metric: str
    labels: Mapping[str, str]
    value: float


def samples(evaluation: Evaluation, *, name: str, namespace: str) -> list[Sample]:
    """Return all samples; `name` is the name of the Pacto object."""
    own = {"name": name, "namespace": namespace}
    found = [Sample(CONTRACT_STATUS, {**own, "status": each}, float(each == evaluation.status)) for each in STATUSES]
    if evaluation.contract is not None:
        found += _service_samples(evaluation, {"service": evaluation.contract.service.name, "namespace": namespace})
    if evaluation.readiness is not None:
        found += _readiness_samples(evaluation.readiness, own)
    return found


def _service_samples(evaluation: Evaluation, labels: Mapping[str, str]) -> Iterator[Sample]:
    known = [each for each in evaluation.verdicts if each.status != "Unknown"]

    def failed(severity: Severity) -> float:
        return float(sum(each.is_failed and each.severity == severity for each in known))

    yield Sample(COMPLIANCE, labels, float(not any(each.is_failed for each in known)))
    yield Sample(ERRORS, labels, failed("error"))
    yield Sample(WARNINGS, labels, failed("warning"))
    for each in known:
        yield Sample(RESULT, {**labels, "check": each.check}, float(not each.is_failed))


def _readiness_samples(readiness: Assessment, labels: Mapping[str, str]) -> Iterator[Sample]:
    yield Sample(READINESS_SCORE, labels, float(readiness.score))
    yield Sample(READINESS_GATE, labels, float(readiness.is_passing))
    reasons = (SATISFIED, BELOW_MIN_SCORE, EXPIRED if readiness.is_dated else INVALID)
    for reason in reasons:
        yield Sample(READINESS_STATUS, {**labels, "status": reason}, float(readiness.reason == reason))
    for status in statuses(readiness):
        yield Sample(READINESS_CHECKS, {**labels, "status": status}, float(readiness.count(status)))
