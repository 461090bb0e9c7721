"""Decides the status, Events, audit results and patches of a policy, from the totals over its Pods. Pure.

Promises, each tested: the same policy and world give the same decision; after acting nothing is left to do; the
status is written only when it changed, or at a slow heartbeat; in audit mode no workload is ever changed; an invalid
policy is `Stalled` and keeps its last score.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import islice
from typing import Final

import msgspec

from homeostat.objects.conditions import READY, Condition
from homeostat.objects.decision import Decision, Notice, Stalled
from homeostat.objects.json import JsonObject
from homeostat.operators.policy.api import HEALTHY, Policy
from homeostat.operators.policy.audit_result import AuditAction, interval_s, plan_audit
from homeostat.operators.policy.enforcement.plan import CoolingDown, Due, Patch, Step, step_of
from homeostat.operators.policy.engine.invalid import Fault
from homeostat.operators.policy.engine.score import Class
from homeostat.operators.policy.spec import Enforcement
from homeostat.operators.policy.status import (
    PLANNED_CHANGES,
    WITHOUT_PORT,
    current_status,
    last_evaluated,
    status_fields,
)
from homeostat.operators.policy.world import World

NOT_EVALUATED: Final = "the policy is not evaluated, and at admission it denies nothing"
_ORDER: Final[tuple[Class, ...]] = ("Healthy", "Stable", "Degraded", "Critical")
_SOONEST_S: Final = 0.1
_MOST_NAMES: Final = 5
_MOST_PATCHES: Final = 50
"""In one reconciliation; the next one follows at once and patches the others."""


class ForgetSeries(msgspec.Struct, frozen=True):
    """Remove the metrics of the policy."""

    def __str__(self) -> str:
        return "remove its metrics"


Action = Patch | AuditAction | ForgetSeries


def decide(policy: Policy, world: World) -> Decision[Action]:
    if policy.is_terminating:
        return Decision(actions=(ForgetSeries(),) if world.has_series else ())
    if isinstance(world.evaluator, Fault):
        raise Stalled(world.evaluator.reason, message=f"{world.evaluator}; {NOT_EVALUATED}")
    steps = [step_of(plan, world.workloads.get(str(plan.owner)), policy.spec, now=world.now) for plan in world.plans]
    patches = _patches(policy, world, steps)
    audits = tuple(each for record in world.records for each in plan_audit(policy, record, now=world.now))
    current = current_status(policy)
    fields = status_fields(policy, world, steps)
    return Decision(
        actions=(*patches, *audits),
        conditions=(_healthy(fields), *_ready(current, fields["message"], len(patches), len(audits))),
        requeue_after=timedelta(seconds=_wait_s(policy, world, steps)),
        status={**fields, "lastEvaluated": last_evaluated(current, fields, world.now)},
        notices=(*_class_notices(current, fields), *_port_notices(current, fields), *_dry_notices(current, fields)),
    )


def _patches(policy: Policy, world: World, steps: list[Step]) -> tuple[Patch, ...]:
    if not policy.spec.is_enforced or (policy.spec.enforcement or Enforcement()).dry_run:
        return ()
    now = world.now.timestamp()
    due = (each for each in steps if isinstance(each, Due) and world.failures.get(str(each.owner), 0.0) <= now)
    return tuple(each.patch(policy.spec, now=world.now) for each in islice(due, _MOST_PATCHES))


def _healthy(fields: JsonObject) -> Condition:
    return Condition(HEALTHY, "True" if fields["healthy"] else "False", fields["classification"], fields["message"])


def _ready(current: JsonObject, message: str, patches: int, audits: int) -> tuple[Condition, ...]:
    """While there are only audit results to write, the current conditions stay."""
    if patches:
        return (Condition(READY, "False", "Remediating", f"Patching {patches} workloads"),)
    if not audits:
        return (Condition(READY, "True", "Evaluated", message),)
    if current.get("conditions"):
        return ()
    return (Condition(READY, "Unknown", "Recording", "Recording the first audit result"),)


def _wait_s(policy: Policy, world: World, steps: list[Step]) -> float:
    now = world.now.timestamp()
    times = [now + interval_s(policy.spec)]
    times += [] if world.next_due is None else [world.next_due]
    times += [each for each in world.failures.values() if each > now]
    times += [each.until for each in steps if isinstance(each, CoolingDown)]
    return max(min(times) - now, _SOONEST_S)


def _class_notices(current: JsonObject, fields: JsonObject) -> tuple[Notice, ...]:
    before, after = current.get("classification"), fields["classification"]
    if before not in _ORDER or before == after:
        return ()
    is_worse = _ORDER.index(after) > _ORDER.index(before)
    text = f"Classification changed from {before} ({current.get('healthScore')}) to {after}: {fields['message']}"
    return (Notice("Warning" if is_worse else "Normal", "ClassChanged", text),)


def _port_notices(current: JsonObject, fields: JsonObject) -> tuple[Notice, ...]:
    """For containers that were not in `containersWithoutPort` before."""
    new = _new(WITHOUT_PORT, current, fields)
    if not new:
        return ()
    more = f" and {len(new) - _MOST_NAMES} more" if len(new) > _MOST_NAMES else ""
    text = (
        f"{', '.join(new[:_MOST_NAMES])}{more}: cannot inject a probe because no port is known; "
        "declare a containerPort, or set spec.defaultProbe.tcpPort or fallbackPort"
    )
    return (Notice("Warning", "NoProbePort", text),)


def _dry_notices(current: JsonObject, fields: JsonObject) -> tuple[Notice, ...]:
    """For changes that were not in `plannedChanges` before."""
    new = _new(PLANNED_CHANGES, current, fields)
    if not new:
        return ()
    more = "; status.plannedChanges has more" if len(new) > _MOST_NAMES else ""
    return (Notice("Normal", "DryRun", f"Would inject: {'; '.join(new[:_MOST_NAMES])}{more}"),)


def _new(field: str, current: JsonObject, fields: JsonObject) -> list[str]:
    known = set(current.get(field) or ())
    return [each for each in fields[field] or () if each not in known]
