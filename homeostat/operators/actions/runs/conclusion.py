"""The end of a reconciliation: its status, its history entry, and the time of the next one. Pure."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import msgspec

from homeostat.objects.decision import Decision, Notice
from homeostat.objects.json import JsonObject
from homeostat.objects.time.timestamp import format_micro_time, parse_time
from homeostat.operators.actions import conditions
from homeostat.operators.actions.action import Abandon, Adopt, Begin, Cancel, Start
from homeostat.operators.actions.api import REQUESTED, ReconciliationSpec, Resource, ResourceStatus
from homeostat.operators.actions.runs.history import Prune, Record, plan_history
from homeostat.operators.actions.runs.run import Outcome, Purpose, Steps, Trigger, shortened
from homeostat.operators.actions.schedule import LATEST_S, after, requested_delay_s, retry_delay_s, trigger_of
from homeostat.operators.actions.world import Fault, World

Action = Begin | Start | Cancel | Adopt | Abandon | Record | Prune
_NONE = Outcome(is_success=False)
_LONGEST_MESSAGE = 1024


class Context:
    """What a decision works on: the resource, its status and the world."""

    def __init__(self, resource: Resource, status: ResourceStatus, world: World) -> None:
        self.resource, self.status, self.world = resource, status, world

    @cached_property
    def trigger(self) -> Trigger:
        if self.status.run is not None:
            return self.status.run.trigger
        found = trigger_of(
            self.status,
            digest=self.world.digest,
            requested=self.requested,
            is_terminating=self.resource.is_terminating,
            now=self.world.now,
        )
        assert found is not None
        return found

    @property
    def requested(self) -> str:
        return self.resource.metadata.annotations.get(REQUESTED, "")

    @property
    def is_cancelled(self) -> bool:
        """Somebody cancelled the run, and it did not succeed all the same."""
        run = self.status.run
        return run is not None and run.is_cancelled and run.outcome is not None and not run.outcome.is_success

    @property
    def retries_before(self) -> int:
        """Failures are counted for each declaration, and separately for its destruction."""
        if self.status.run is not None:
            return self.status.retries
        is_new = self.trigger in ("initial", "spec_change")
        is_new |= self.trigger == "deletion" and self.status.phase != "deleting"
        return 0 if is_new else self.status.retries


def succeed(context: Context, outcome: Outcome) -> Decision[Action]:
    world, run = context.world, context.status.run
    digest = run.digest if run is not None else world.digest
    fields = _closed(context) | {
        "phase": "ready",
        "message": shortened(outcome.message, _LONGEST_MESSAGE),
        "retries": 0,
        "nextRun": after(world.ended, requested_delay_s(outcome.again_after_seconds, world.pace.interval_s)),
        "reconciledGeneration": run.generation if run is not None else context.resource.metadata.generation,
        "appliedDigest": digest,
        "hasEffects": True,
    }
    if outcome.outputs:
        fields["outputs"] = outcome.outputs
    is_applied = run is not None and run.purpose == "apply"
    message = outcome.message or "Applied the declaration"
    return Decision(
        _recorded(context, outcome),
        conditions.of_success(context.status, outcome.conditions),
        status=fields,
        notices=(Notice("Normal", "Reconciled", message),) if is_applied else (),
    )


def fail(context: Context, fault: Fault, outcome: Outcome = _NONE, *, plan: str = "") -> Decision[Action]:
    """`outcome` is the outcome of the run, which may have succeeded although the verification failed."""
    world, run = context.world, context.status.run
    is_deleting = context.resource.is_terminating and (run is None or run.purpose == "destroy")
    prefix = f"{fault.reason}: "
    message = prefix + shortened(fault.message, _LONGEST_MESSAGE - len(prefix))
    if fault.output and not outcome.output:
        outcome = msgspec.structs.replace(outcome, output=fault.output)
    retries = context.retries_before
    # What somebody has cancelled is not started again by itself, but on request or after a change.
    delay_s = LATEST_S if context.is_cancelled else retry_delay_s(world.pace.delays, retries, world.chance)
    fields = _closed(context) | {
        "phase": "deleting" if is_deleting else "failed",
        "message": message,
        "retries": retries + 1,
        "nextRun": after(world.ended, delay_s),
    }
    if outcome.is_success and run is not None:
        fields |= {"appliedDigest": run.digest, "reconciledGeneration": run.generation}
        fields |= {"outputs": outcome.outputs} if outcome.outputs else {}
    elif run is not None and run.purpose == "apply":
        # The failed run may have changed a part of what was applied before.
        fields["appliedDigest"] = None
    return Decision(
        _recorded(context, outcome, error=message, plan=plan),
        conditions.of_failure(message, outcome.conditions, is_deleting=is_deleting),
        status=fields,
        notices=(Notice("Warning", "ReconcileFailed", message),),
    )


def finish_destroy(context: Context, outcome: Outcome) -> Decision[Action]:
    fields = _closed(context) | {"phase": "deleting", "message": "", "retries": 0, "isDestroyed": True, "outputs": None}
    return Decision(_recorded(context, outcome), conditions.of_destruction(), status=fields)


def _closed(context: Context) -> JsonObject:
    run = context.status.run
    return {
        "run": None,
        "reconciliations": context.status.reconciliations + 1,
        "lastRun": format_micro_time(context.world.ended),
        "attemptedDigest": run.digest if run is not None else context.world.digest,
        "handledRequest": run.requested if run is not None else context.requested,
    }


def _recorded(context: Context, outcome: Outcome, *, error: str = "", plan: str = "") -> tuple[Record | Prune, ...]:
    resource, world, run = context.resource, context.world, context.status.run
    began = run.began if run is not None else format_micro_time(world.now)
    phase: Literal["completed", "failed", "cancelled"] = (
        "cancelled" if context.is_cancelled else "failed" if error else "completed"
    )
    is_plan = _purpose(context) == "plan"
    spec = ReconciliationSpec(
        resource_kind=world.kind,
        resource_version=world.version,
        resource_name=resource.metadata.name,
        resource_uid=resource.metadata.uid,
        generation=run.generation if run is not None else resource.metadata.generation,
        trigger=context.trigger,
        purpose=_purpose(context),
        ticket=run.ticket if run is not None else "",
        is_success=not error,
        phase=phase,
        plugin=(run.plugin if run is not None else "") or world.plugin,
        plan_output=shortened(plan or (outcome.output if is_plan else run.plan if run is not None else "")),
        apply_output="" if is_plan else shortened(outcome.output),
        error=error,
        changes=outcome.changes,
        is_drift=run is not None and run.is_drift,
        url=outcome.url,
        started=began,
        finished=format_micro_time(world.ended),
        steps=run.steps if run is not None else Steps(),
        duration_seconds=max((world.ended - parse_time(began)).total_seconds(), 0.0),
    )
    return plan_history(resource, context.status.reconciliations + 1, spec, world.pace.keep)


def _purpose(context: Context) -> Purpose:
    if context.status.run is not None:
        return context.status.run.purpose
    return "destroy" if context.resource.is_terminating else "plan"
