"""Decides the status, Events and revisions of a Pacto. Pure.

Promises, each tested: the same Pacto and world give the same decision; after acting nothing is left to do; the status
is written when something changed and once in an interval, and a latency that differs is no change; conditions of checks
that no longer apply are removed; readiness never changes the contract status, and neither does a registry with a fault
that may pass.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from homeostat.objects.conditions import READY, Condition
from homeostat.objects.decision import Decision
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.time.timestamp import TimestampError, format_time, parse_time
from homeostat.operators.contracts.api import Pacto
from homeostat.operators.contracts.engine.checks.evaluate import Evaluation, evaluate_prepared
from homeostat.operators.contracts.engine.checks.verdict import READINESS_EXPIRING, READINESS_SATISFIED, SEVERITIES
from homeostat.operators.contracts.engine.revision import resolution_policy
from homeostat.operators.contracts.forecast import Forecast, forecast
from homeostat.operators.contracts.loading.content import Version
from homeostat.operators.contracts.notices import notices_of
from homeostat.operators.contracts.revisions.plan import RevisionAction, RevisionPlan, plan_revisions
from homeostat.operators.contracts.signature import SIGNATURE_VERIFIED
from homeostat.operators.contracts.status import PactoStatus
from homeostat.operators.contracts.world import World

Action = RevisionAction

EARLY: Final = 0.9
"""Of an interval: what is nearly due is done together with what is due."""
_SOONEST_S: Final = 0.1
CONTRACT_OUTDATED: Final = "ContractOutdated"
STATUS_COMPLETE: Final = "StatusComplete"
_TYPES: Final = (
    *SEVERITIES,
    READINESS_SATISFIED,
    READINESS_EXPIRING,
    CONTRACT_OUTDATED,
    SIGNATURE_VERIFIED,
    STATUS_COMPLETE,
)
# The runtime sets Ready if a reconciliation fails; a Pacto says by its own conditions how it is.
_ABSENT: Final = (*_TYPES, READY)
_KEPT: Final = frozenset({"conditions", "observedGeneration", "currentRevision", "lastReconciledAt"})
_NOTHING: Final[JsonObject] = {
    each.encode_name: None for each in msgspec.structs.fields(PactoStatus) if each.encode_name not in _KEPT
}
_encode = msgspec.json.Encoder(order="deterministic").encode


def decide(pacto: Pacto, world: World) -> Decision[Action]:
    return decide_new(pacto, world) if world.is_new else decide_evaluated(pacto, world, evaluate(world))


def decide_new(pacto: Pacto, world: World) -> Decision[Action]:
    """Only the revisions. The next reconciliation, which follows at once, evaluates the contract."""
    assert world.version is not None
    return Decision(actions=_revisions(pacto, world, world.version).actions)


def evaluate(world: World) -> Evaluation:
    return evaluate_prepared(world.prepared, today=world.now.astimezone(UTC).date(), observed=world.observed)


def decide_evaluated(pacto: Pacto, world: World, evaluation: Evaluation) -> Decision[Action]:
    current = _current_status(pacto)
    coming = forecast(evaluation, world.now, days=world.settings.forecast_days)
    plan = _plan(pacto, world, evaluation)
    conditions = _conditions(pacto, world, evaluation, coming)
    fields = _fields(pacto, world, evaluation, plan, coming)
    age_s = _age_s(current, world.now)
    is_changed = _is_changed(current, fields, conditions)
    is_reported = is_changed or age_s >= pacto.spec.check_interval_seconds * EARLY
    if is_reported:
        fields["lastReconciledAt"] = format_time(world.now)
    elif "endpoints" in current:
        fields["endpoints"] = current["endpoints"]
    return Decision(
        actions=() if plan is None else plan.actions,
        conditions=conditions,
        requeue_after=timedelta(seconds=_wait_s(pacto, world, evaluation, 0.0 if is_reported else age_s)),
        status=fields,
        notices=notices_of(current, evaluation, coming, is_reported=is_reported),
        absent=_ABSENT,
    )


def _plan(pacto: Pacto, world: World, evaluation: Evaluation) -> RevisionPlan | None:
    """None for an invalid contract: the revision that was in use before stays in the status."""
    if world.version is None or not world.prepared.findings.is_valid or evaluation.contract is None:
        return None
    return _revisions(pacto, world, world.version)


def _revisions(pacto: Pacto, world: World, version: Version) -> RevisionPlan:
    limit = world.settings.revision_limit
    return plan_revisions(pacto.metadata.name, version, world.versions, world.revisions, limit=limit)


def _conditions(pacto: Pacto, world: World, evaluation: Evaluation, coming: Forecast | None) -> tuple[Condition, ...]:
    found = [*evaluation.conditions]
    if coming is not None and coming.is_near:
        found.append(coming.condition())
    if world.signature is not None:
        found.append(world.signature)
    if world.fault:
        message = f"The contract that was loaded before is used, because its registry has a fault: {world.fault}"
        found.append(Condition(CONTRACT_OUTDATED, "Unknown", "RegistryFault", message))
    if world.prepared.omitted:
        message = f"The contract is too large to be shown; the status omits {', '.join(world.prepared.omitted)}"
        found.append(Condition(STATUS_COMPLETE, "False", "TooLarge", message))
    generation = pacto.metadata.generation
    return tuple(msgspec.structs.replace(each, observed_generation=generation) for each in found)


def _fields(
    pacto: Pacto, world: World, evaluation: Evaluation, plan: RevisionPlan | None, coming: Forecast | None
) -> JsonObject:
    fields = {**_NOTHING, **evaluation.fields}
    if coming is not None:
        fields["readiness"] = {**fields["readiness"], "passingUntil": coming.last_day.isoformat()}
    policy = resolution_policy(pacto.spec.contract_ref.oci) if world.has_secret else ""
    fields["resolutionPolicy"] = policy or None
    if plan is not None:
        fields["currentRevision"] = plan.current
    return fields


def _current_status(pacto: Pacto) -> JsonObject:
    current = msgspec.json.decode(pacto.status or b"{}")
    return current if isinstance(current, dict) else {}


def _age_s(current: JsonObject, now: datetime) -> float:
    """Since the last report; infinite if there is none, or if it is in the future."""
    reported = current.get("lastReconciledAt")
    try:
        age_s = (now - parse_time(reported)).total_seconds() if isinstance(reported, str) else -1.0
    except TimestampError:
        age_s = -1.0
    return age_s if age_s >= 0 else float("inf")


def _is_changed(current: JsonObject, fields: JsonObject, conditions: tuple[Condition, ...]) -> bool:
    if not current:
        return True
    wanted = {name: value for name, value in fields.items() if value is not None}
    held = {name: current[name] for name in fields if current.get(name) is not None}
    if _encode(_without_latency(wanted)) != _encode(_without_latency(held)):
        return True
    listed = current.get("conditions")
    known = {each.get("type"): each for each in listed if isinstance(each, dict)} if isinstance(listed, list) else {}
    given = {each.type for each in conditions}
    return not all(_is_same(known.get(each.type), each) for each in conditions) or any(
        each in known for each in _ABSENT if each not in given
    )


def _is_same(held: Json, new: Condition) -> bool:
    return (
        isinstance(held, dict)
        and held.get("status") == new.status
        and held.get("reason") == new.reason
        and held.get("message") == new.message
        and held.get("observedGeneration") == new.observed_generation
    )


def _without_latency(fields: JsonObject) -> JsonObject:
    endpoints = fields.get("endpoints")
    if not isinstance(endpoints, dict):
        return fields
    bare = {
        name: {key: value for key, value in each.items() if key != "latencyMs"}
        for name, each in endpoints.items()
        if isinstance(each, dict)
    }
    return {**fields, "endpoints": bare}


def _wait_s(pacto: Pacto, world: World, evaluation: Evaluation, age_s: float) -> float:
    waits = [pacto.spec.check_interval_seconds - age_s]
    if world.due_in_s is not None:
        waits.append(world.due_in_s)
    if evaluation.readiness is not None:
        tomorrow = world.now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        waits.append((tomorrow - world.now).total_seconds())
    return max(min(waits), _SOONEST_S)
