"""The Events of a Pacto, with the reasons of the original and one more, `ContractRecovered`. Pure.

An Event about a failing status is recorded when the status is reported: when something changed, and once in an
interval. That it is good again is recorded once, so that the failure is not the last Event.
Those of the readiness gate are recorded when it changes, and the status that is stored says how it was before.
"""

from __future__ import annotations

from homeostat.objects.decision import Notice
from homeostat.objects.json import JsonObject
from homeostat.operators.contracts.engine.checks.evaluate import Evaluation
from homeostat.operators.contracts.engine.checks.verdict import (
    COMPLIANT,
    CONTRACT_VALID,
    NON_COMPLIANT,
    OPENAPI,
    READINESS_EXPIRING,
    READINESS_SATISFIED,
    REFERENCE,
    RUNTIME_OBSERVED,
    UNKNOWN,
    WARNING,
)
from homeostat.operators.contracts.engine.readiness import describe_gate
from homeostat.operators.contracts.forecast import Forecast


def notices_of(
    current: JsonObject, evaluation: Evaluation, coming: Forecast | None, *, is_reported: bool
) -> tuple[Notice, ...]:
    """`current` is the stored status."""
    status = _status_notices(evaluation) if is_reported else ()
    readiness = (*_gate_notices(current, evaluation), *_forecast_notices(current, coming))
    return (*status, *_recovery_notices(current, evaluation), *_drift_notices(current, evaluation), *readiness)


def _status_notices(evaluation: Evaluation) -> tuple[Notice, ...]:
    failed = [each for each in evaluation.verdicts if each.is_failed]
    if any(each.check == CONTRACT_VALID for each in failed):
        return (Notice("Warning", "ContractInvalid", failed[0].message),)
    if evaluation.status == UNKNOWN:
        problem = next((each.message for each in failed if each.check == RUNTIME_OBSERVED), "")
        return (Notice("Warning", "ObservationFailed", problem),)
    if evaluation.status not in (WARNING, NON_COMPLIANT):
        return ()
    total = evaluation.fields["summary"]["total"]
    names = ", ".join(each.check for each in failed)
    text = f"Contract status is {evaluation.status}: {len(failed)} of {total} checks failed ({names})"
    return (Notice("Warning", "ValidationFailed", text),)


def _recovery_notices(current: JsonObject, evaluation: Evaluation) -> tuple[Notice, ...]:
    before, now = current.get("contractStatus"), evaluation.status
    if before not in (WARNING, NON_COMPLIANT, UNKNOWN) or now not in (COMPLIANT, REFERENCE):
        return ()
    return (Notice("Normal", "ContractRecovered", f"Contract status is {now} again; it was {before}"),)


def _gate_notices(current: JsonObject, evaluation: Evaluation) -> tuple[Notice, ...]:
    readiness = evaluation.readiness
    if readiness is None:
        return ()
    was_unmet = _held(current, READINESS_SATISFIED) == "False"
    if not readiness.is_passing and not was_unmet:
        return (Notice("Warning", "ReadinessGateUnmet", f"Readiness gate is unmet: {describe_gate(readiness)}"),)
    if readiness.is_passing and was_unmet:
        text = f"Readiness gate is met again: score {readiness.score}, minScore {readiness.min_score}"
        return (Notice("Normal", "ReadinessRecovered", text),)
    return ()


def _drift_notices(current: JsonObject, evaluation: Evaluation) -> tuple[Notice, ...]:
    """Once, when the served document begins to differ."""
    failed = next((each for each in evaluation.verdicts if each.check == OPENAPI and each.is_failed), None)
    if failed is None or _held(current, OPENAPI) == "False":
        return ()
    return (Notice("Warning", "OpenApiDrift", failed.message),)


def _forecast_notices(current: JsonObject, coming: Forecast | None) -> tuple[Notice, ...]:
    if coming is None or not coming.is_near or _held(current, READINESS_EXPIRING) == "True":
        return ()
    when = "today" if coming.days == 0 else "tomorrow" if coming.days == 1 else f"in {coming.days} days"
    text = f"Readiness gate is met until {coming.last_day.isoformat()}, {when}; renew the checks that expire then"
    return (Notice("Warning", READINESS_EXPIRING, text),)


def _held(current: JsonObject, type_: str) -> str:
    listed = current.get("conditions")
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, dict) and each.get("type") == type_:
            return str(each.get("status", ""))
    return ""
