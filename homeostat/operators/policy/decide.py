"""Decides on a policy: from the totals over its Pods to status, Events, audit results and patches. Pure.

Promises, each tested: the same policy and world give the same decision; after acting nothing is left to do; a status
changes only when what it says changes, or at a slow heartbeat; in audit mode no workload is ever changed; an invalid
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
from homeostat.operators.policy.enforcement.plan import Cooling, Due, Patch, Step, step_of
from homeostat.operators.policy.engine.invalid import Fault
from homeostat.operators.policy.engine.score import Class
from homeostat.operators.policy.spec import Enforcement
from homeostat.operators.policy.status import PLANNED_CHANGES, WITHOUT_PORT, held_status, last_evaluated, status_fields
from homeostat.operators.policy.world import World

_ORDER: Final[tuple[Class, ...]] = ("Healthy", "Stable", "Degraded", "Critical")
_SOONEST_S: Final = 0.1
_MOST_NAMES: Final = 5
_MOST_PATCHES: Final = 50
"""In one look; the others have their turn in the next, which follows at once."""


class ForgetSeries(msgspec.Struct, frozen=True):
    """Drop what the metrics still tell of the policy."""


Action = Patch | AuditAction | ForgetSeries


def decide(policy: Policy, world: World) -> Decision[Action]:
    if policy.is_terminating:
        return Decision(actions=(ForgetSeries(),) if world.has_series else ())
    if isinstance(world.evaluator, Fault):
        raise Stalled(world.evaluator.reason, message=str(world.evaluator))
    steps = [step_of(plan, world.workloads.get(str(plan.owner)), policy.spec, now=world.now) for plan in world.plans]
    patches = _patches(policy, world, steps)
    audits = tuple(each for record in world.records for each in plan_audit(policy, record, now=world.now))
    held = held_status(policy)
    fields = status_fields(policy, world, steps)
    return Decision(
        actions=(*patches, *audits),
        conditions=(_healthy(fields), *_ready(held, fields["message"], len(patches), len(audits))),
        requeue_after=timedelta(seconds=_wait_s(policy, world, steps)),
        status={**fields, "lastEvaluated": last_evaluated(held, fields, world.now)},
        notices=(*_class_notices(held, fields), *_port_notices(held, fields), *_dry_notices(held, fields)),
    )


def _patches(policy: Policy, world: World, steps: list[Step]) -> tuple[Patch, ...]:
    if not policy.spec.is_enforced or (policy.spec.enforcement or Enforcement()).dry_run:
        return ()
    now = world.now.timestamp()
    due = (each for each in steps if isinstance(each, Due) and world.failures.get(str(each.owner), 0.0) <= now)
    return tuple(each.patch(policy.spec, now=world.now) for each in islice(due, _MOST_PATCHES))


def _healthy(fields: JsonObject) -> Condition:
    return Condition(HEALTHY, "True" if fields["healthy"] else "False", fields["classification"], fields["message"])


def _ready(held: JsonObject, message: str, patches: int, audits: int) -> tuple[Condition, ...]:
    """While only the record is behind, what was said before stands."""
    if patches:
        return (Condition(READY, "False", "Remediating", f"Patching {patches} workloads"),)
    if not audits:
        return (Condition(READY, "True", "Evaluated", message),)
    if held.get("conditions"):
        return ()
    return (Condition(READY, "Unknown", "Recording", "Recording the first audit result"),)


def _wait_s(policy: Policy, world: World, steps: list[Step]) -> float:
    now = world.now.timestamp()
    times = [now + interval_s(policy.spec)]
    times += [] if world.next_due is None else [world.next_due]
    times += [each for each in world.failures.values() if each > now]
    times += [each.until for each in steps if isinstance(each, Cooling)]
    return max(min(times) - now, _SOONEST_S)


def _class_notices(held: JsonObject, fields: JsonObject) -> tuple[Notice, ...]:
    before, after = held.get("classification"), fields["classification"]
    if before not in _ORDER or before == after:
        return ()
    is_worse = _ORDER.index(after) > _ORDER.index(before)
    told = f"Classification changed from {before} ({held.get('healthScore')}) to {after}: {fields['message']}"
    return (Notice("Warning" if is_worse else "Normal", "ClassChanged", told),)


def _port_notices(held: JsonObject, fields: JsonObject) -> tuple[Notice, ...]:
    """Of the containers that are new among those without a port."""
    new = _new(WITHOUT_PORT, held, fields)
    if not new:
        return ()
    more = f" and {len(new) - _MOST_NAMES} more" if len(new) > _MOST_NAMES else ""
    told = (
        f"{', '.join(new[:_MOST_NAMES])}{more}: cannot inject a probe because no port is known; "
        "declare a containerPort, or set spec.defaultProbe.tcpPort or fallbackPort"
    )
    return (Notice("Warning", "NoProbePort", told),)


def _dry_notices(held: JsonObject, fields: JsonObject) -> tuple[Notice, ...]:
    """Of the changes that are new among those that a dry run would make."""
    new = _new(PLANNED_CHANGES, held, fields)
    if not new:
        return ()
    more = "; status.plannedChanges has more" if len(new) > _MOST_NAMES else ""
    return (Notice("Normal", "DryRun", f"Would inject: {'; '.join(new[:_MOST_NAMES])}{more}"),)


def _new(field: str, held: JsonObject, fields: JsonObject) -> list[str]:
    known = set(held.get(field) or ())
    return [each for each in fields[field] or () if each not in known]
