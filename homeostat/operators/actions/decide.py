"""The life of a resource: pending, reconciling, then ready or failed; deleting, then gone. Pure.

Promises, each tested with a crash at every point:

- A run is recorded before it starts, and its outcome is recorded before anything else happens: no effect is repeated,
  and no run is forgotten.
- After a run was lost with its process, the resource is planned again before it is applied again.
- Only a reconciliation that finds nothing to do sets Ready=True.
- A declaration that no plan can check is applied once, and again after a failure or on request.
- A declaration that changes during a run gets a run of its own afterwards; the first run is judged by its own
  declaration.
- A cancelled run is recorded as such, whether it had started or not, and whoever ran it; the resource is reconciled
  again on request or after a change.
- A resource that cannot be destroyed stays `deleting` and is retried with backoff.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec
from msgspec.structs import replace

from homeostat.objects.decision import Decision, Notice, Wait
from homeostat.objects.time.timestamp import format_micro_time, parse_time
from homeostat.operators.actions import conditions
from homeostat.operators.actions.action import Abandon, Adopt, Begin, Cancel, Start
from homeostat.operators.actions.api import CANCEL, REQUESTED, Resource, ResourceStatus
from homeostat.operators.actions.runs.conclusion import Action, Context, fail, finish_destroy, succeed
from homeostat.operators.actions.runs.run import CANCELLED, Outcome, Purpose, Run, cancelled
from homeostat.operators.actions.schedule import requested_delay_s, trigger_of, wait_until
from homeostat.operators.actions.world import Fault, Fresh, Lost, Need, Plan, Underway, World

__all__ = ["decide", "need_of"]

_POLL_S = 10.0
_AGAIN = timedelta(seconds=30)
_GIVEN_UP_AFTER = timedelta(days=1)


def need_of(resource: Resource, status: ResourceStatus, digest: str, now: datetime) -> Need:
    """Returns what has to be observed before a decision can be made."""
    if status.run is not None:
        return _need_of_run(status.run, is_current=_is_current(resource, status.run, digest))
    is_terminating = resource.is_terminating
    if is_terminating and (status.is_destroyed or not status.has_effects):
        return "nothing"
    requested = resource.metadata.annotations.get(REQUESTED, "")
    if trigger_of(status, digest=digest, requested=requested, is_terminating=is_terminating, now=now) is None:
        return "rest"
    return "destroy" if is_terminating else "plan"


def _need_of_run(run: Run, *, is_current: bool) -> Need:
    if run.outcome is None:
        return "follow"
    return "verify" if run.purpose == "apply" and run.outcome.is_success and is_current else "conclude"


def _is_current(resource: Resource, run: Run, digest: str) -> bool:
    return run.digest == digest and not resource.is_terminating


def decide(resource: Resource, world: World) -> Decision[Action]:
    status = resource.read_status(ResourceStatus)
    context = Context(resource, status, world)
    match need_of(resource, status, world.digest, world.now):
        case "nothing":
            return Decision()
        case "rest":
            return _rest(context)
        case "follow":
            return _follow(context)
        case "verify" | "conclude":
            return _conclude(context)
        case "destroy":
            if isinstance(world.seen, Fault):
                return fail(context, world.seen)
            return _begin(context, "destroy")
        case "plan":
            return _after_plan(context)


def _rest(context: Context) -> Decision[Action]:
    wait = wait_until(context.status.next_run, context.world.now)
    if context.resource.is_terminating:
        raise Wait(conditions.DESTROY_FAILED, wait, message=context.status.message)
    return Decision(conditions=conditions.of_rest(context.status), requeue_after=wait)


def _after_plan(context: Context) -> Decision[Action]:
    match context.world.seen:
        case Plan(is_changed=None):
            return _begin(context, "plan")
        case Plan(is_changed=True) as plan:
            return _begin(context, "apply", plan)
        case Plan(is_assumed=True) as plan if context.trigger == "manual":
            # A manual request is the only way to apply again what no plan can check.
            return _begin(context, "apply", plan)
        case Plan() as plan:
            return succeed(context, _unchanged(plan))
        case Fault() as fault:
            return fail(context, fault)
        case other:
            raise _unexpected("a plan", other)


def _unchanged(plan: Plan) -> Outcome:
    again = plan.again_after_seconds
    return Outcome(is_success=True, output=plan.output, again_after_seconds=again, outputs=plan.outputs)


def _begin(context: Context, purpose: Purpose, plan: Plan | None = None) -> Decision[Action]:
    """Records a run. The next reconciliation finds the record and starts it."""
    run = _new_run(context, purpose, plan or Plan(None))
    status = {
        "run": msgspec.to_builtins(run),
        "sequence": context.status.sequence + 1,
        "retries": context.retries_before,
        **({"hasEffects": True} if purpose == "apply" else {}),
    }
    if purpose == "plan" and context.status.phase == "ready":
        # Checking for drift does not make a ready resource less ready.
        return Decision((Begin(run.ticket),), status=status)
    phase = "deleting" if purpose == "destroy" else "reconciling"
    status |= {"phase": phase, "message": conditions.started_message(purpose)}
    notices = (_drift_notice(run),) if run.is_drift else ()
    return Decision((Begin(run.ticket),), conditions.of_start(purpose), status=status, notices=notices)


def _new_run(context: Context, purpose: Purpose, plan: Plan) -> Run:
    return Run(
        ticket=f"{context.resource.metadata.uid}-{context.status.sequence + 1}",
        purpose=purpose,
        trigger=context.trigger,
        digest=context.world.digest,
        generation=context.resource.metadata.generation,
        plugin=context.world.plugin,
        declaration=context.world.declaration,
        began=format_micro_time(context.world.now),
        requested=context.requested,
        is_drift=plan.is_changed is True and _was_as_declared(context),
        plan=plan.output,
        changes=plan.changes,
    )


def _was_as_declared(context: Context) -> bool:
    """The resource matched its declaration before, so a difference now is drift."""
    return context.trigger == "scheduled" or (context.trigger == "manual" and context.status.phase == "ready")


def _drift_notice(run: Run) -> Notice:
    counts = run.changes
    message = f"{counts.created} to create, {counts.updated} to update, {counts.deleted} to delete"
    return Notice("Warning", "DriftDetected", f"Drift detected: {message}")


def _follow(context: Context) -> Decision[Action]:
    run = context.status.run
    assert run is not None
    if context.resource.metadata.annotations.get(CANCEL) == run.ticket:
        found = _cancel(context, run)
        if found is not None:
            return found
    match context.world.seen:
        case Fresh() | Lost(is_restartable=True) if _is_wanted(context, run):
            return Decision((Start(run),))
        case Fresh() | Lost():
            return _abandon(context, run)
        case Underway(handle=handle, again_after_s=after_s):
            if handle is not None and handle != run.handle:
                waiting = run.steps.waiting or format_micro_time(context.world.ended)
                return Decision((Adopt(replace(run, handle=handle, steps=replace(run.steps, waiting=waiting))),))
            return _wait(context, run, timedelta(seconds=requested_delay_s(after_s, _POLL_S)))
        case Outcome() as outcome:
            steps = replace(run.steps, ended=format_micro_time(context.world.ended))
            return Decision((Adopt(replace(run, outcome=outcome, steps=steps)),))
        case Fault(reason=reason, message=message, is_certain=False) if not _is_given_up(context, run):
            raise Wait(reason, _AGAIN, message=f"Cannot read run status: {message}")
        case Fault(reason=reason, message=message):
            outcome = Outcome(is_success=False, reason=reason, message=message)
            return Decision((Adopt(replace(run, outcome=outcome)),))
        case other:
            raise _unexpected("the state of the run", other)


def _cancel(context: Context, run: Run) -> Decision[Action] | None:
    """None while the run has to be followed: it is not found yet, or the plugin was asked already."""
    match context.world.seen:
        case Fresh() | Lost():
            # It was not started, or it ended with the process that ran it, and would be planned again.
            return Decision((Adopt(cancelled(run)),))
        case Underway(handle=handle) if not run.is_cancelled and (handle or run.handle) is not None:
            return Decision((Cancel(replace(run, handle=handle or run.handle)),))
    return None


def _is_given_up(context: Context, run: Run) -> bool:
    """A run whose status cannot be read may still be in progress. It counts as failed only after a day."""
    return context.world.now - parse_time(run.began) >= _GIVEN_UP_AFTER


def _is_wanted(context: Context, run: Run) -> bool:
    """A run that was not started yet still matches what the resource declares."""
    return run.digest == context.world.digest and context.resource.is_terminating == (run.purpose == "destroy")


def _abandon(context: Context, run: Run) -> Decision[Action]:
    return Decision((Abandon(run.ticket),), status={"run": None, "nextRun": format_micro_time(context.world.now)})


def _wait(context: Context, run: Run, after: timedelta) -> Decision[Action]:
    if context.resource.is_terminating:
        raise Wait(conditions.STARTED, after, message=conditions.started_message(run.purpose))
    is_quiet = run.purpose == "plan" and context.status.phase == "ready"
    return Decision(conditions=() if is_quiet else conditions.of_start(run.purpose), requeue_after=after)


def _conclude(context: Context) -> Decision[Action]:
    run = context.status.run
    assert run is not None
    outcome = run.outcome
    assert outcome is not None
    if not outcome.is_success:
        if context.is_cancelled:
            return fail(context, Fault(CANCELLED, outcome.message or "the run was cancelled"), outcome)
        return fail(context, Fault(outcome.reason or "Failed", outcome.message), outcome)
    is_current = _is_current(context.resource, run, context.world.digest)
    match run.purpose:
        case "destroy":
            return finish_destroy(context, outcome)
        case "plan" if not is_current:
            return _abandon(context, run)
        case "plan" if outcome.is_changed:
            return _begin(context, "apply", Plan(True, outcome.changes, outcome.output))
        case "apply" if is_current:
            return _verify(context, outcome)
        case _:
            return succeed(context, outcome)


def _verify(context: Context, outcome: Outcome) -> Decision[Action]:
    """Status reports what was observed, not what was done. If observing takes a run, the outcome of this run counts."""
    match context.world.seen:
        case Plan(is_changed=True) as plan:
            message = "applied, but a plan made afterwards still shows changes"
            return fail(context, Fault("NotConverged", message), outcome, plan=plan.output)
        case Plan(again_after_seconds=again):
            return succeed(context, outcome if again is None else replace(outcome, again_after_seconds=again))
        case Fault() as fault:
            return fail(context, fault, outcome)
        case other:
            raise _unexpected("a plan", other)


def _unexpected(wanted: str, seen: object) -> ValueError:
    return ValueError(f"expected to observe {wanted}, not {type(seen).__name__}")
