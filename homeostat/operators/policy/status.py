"""Builds the status of a policy, by the wire names of its fields. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from itertools import islice
from typing import Final

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.objects.time.timestamp import TimestampError, format_time, parse_time
from homeostat.operators.policy.api import (
    HEARTBEAT_S,
    MOST_CHANGES,
    MOST_NAMESPACES,
    MOST_WORKLOADS,
    ClusterDevOpsPolicy,
    NamespaceScore,
    Policy,
)
from homeostat.operators.policy.enforcement.patch import is_patched
from homeostat.operators.policy.enforcement.plan import Due, Step
from homeostat.operators.policy.engine.score import classify, is_healthy, summary
from homeostat.operators.policy.engine.totals import Totals
from homeostat.operators.policy.spec import PolicySpec
from homeostat.operators.policy.world import World

WITHOUT_PORT: Final = "containersWithoutPort"
PLANNED_CHANGES: Final = "plannedChanges"
_OF_ENFORCEMENT: Final = (
    "remediationsApplied",
    "remediationsFailed",
    "remediatedWorkloads",
    "plannedRemediations",
    PLANNED_CHANGES,
    WITHOUT_PORT,
)


def current_status(policy: Policy) -> JsonObject:
    current = msgspec.json.decode(policy.status or b"{}")
    return current if isinstance(current, dict) else {}


def status_fields(policy: Policy, world: World, steps: list[Step]) -> JsonObject:
    """The status without its time; None removes a field."""
    totals, bounds = world.totals, policy.spec.thresholds
    score = totals.score
    return {
        "enforcementMode": policy.spec.enforcement_mode or "audit",
        "healthy": is_healthy(score, bounds),
        "healthScore": score,
        "violations": totals.violations,
        "message": summary(violations=totals.violations, pods=totals.pods, score=score, thresholds=bounds),
        "classification": classify(score, bounds),
        "pods": totals.pods,
        "exempted": totals.exempted or None,
        **_remediations(policy, world, steps),
        **({"namespaces": _worst(world.namespaces)} if isinstance(policy, ClusterDevOpsPolicy) else {}),
    }


def _remediations(policy: Policy, world: World, steps: list[Step]) -> JsonObject:
    if not policy.spec.is_enforced:
        return dict.fromkeys(_OF_ENFORCEMENT)
    patched = sorted(key for key, each in world.workloads.items() if is_patched(each))
    due = sorted((each for each in steps if isinstance(each, Due)), key=lambda each: str(each.owner))
    without_port = sorted(f"{each.owner}/{name}" for each in steps for name in each.without_port)
    return {
        "remediationsApplied": len(patched),
        "remediationsFailed": len(world.failures),
        "remediatedWorkloads": patched[:MOST_WORKLOADS] or None,
        "plannedRemediations": [str(each.owner) for each in due[:MOST_WORKLOADS]] or None,
        PLANNED_CHANGES: _changes(due, policy.spec) or None,
        WITHOUT_PORT: without_port[:MOST_WORKLOADS] or None,
    }


def _changes(due: list[Due], spec: PolicySpec) -> list[str]:
    """The changes of a dry run. Otherwise the changes are applied, and an Event reports them."""
    if spec.enforcement is None or not spec.enforcement.dry_run:
        return []
    return list(islice((line for each in due for line in each.changes(spec)), MOST_CHANGES))


def _worst(namespaces: Mapping[str, Totals]) -> list[JsonObject] | None:
    scored = sorted(namespaces.items(), key=lambda each: (each[1].score, each[0]))[:MOST_NAMESPACES]
    scores = (
        NamespaceScore(name=name, health_score=each.score, pods=each.pods, violations=each.violations)
        for name, each in scored
    )
    return [msgspec.to_builtins(each) for each in scores] or None


def last_evaluated(current: JsonObject, fields: JsonObject, now: datetime) -> str:
    """The time in the current status, if the status did not change and the time is not too old; otherwise now."""
    evaluated = current.get("lastEvaluated")
    if isinstance(evaluated, str) and all(current.get(name) == value for name, value in fields.items()):
        try:
            if 0 <= now.timestamp() - parse_time(evaluated).timestamp() < HEARTBEAT_S:
                return evaluated
        except TimestampError:
            pass
    return format_time(now)
