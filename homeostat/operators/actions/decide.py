"""The life of a resource: pending, reconciling, then ready or failed; deleting, then gone. Pure.

Promises, each tested at every point where a process may die:

- An effect has its run recorded before it starts, and its outcome before anything else is done: nothing that was done
  is done again, and nothing that runs is forgotten.
- What was lost with its process is planned anew before it is applied again.
- Only a look that finds nothing to do says Ready=True.
- What cannot be looked at is applied once, and again when it failed or when somebody asks.
- A declaration that changes during a run gets a run of its own afterwards; the first is judged by what it was for.
- A resource whose destruction fails stays `deleting` and is tried again, later each time.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec
from msgspec.structs import replace

from homeostat.objects.decision import Decision, Notice, Wait
from homeostat.objects.time.timestamp import format_micro_time, parse_time
from homeostat.operators.actions import conditions
from homeostat.operators.actions.action import Abandon, Adopt, Begin, Start
from homeostat.operators.actions.api import REQUESTED, Resource, ResourceStatus
from homeostat.operators.actions.runs.conclusion import Action, Look, fail, finish_destroy, succeed
from homeostat.operators.actions.runs.run import Outcome, Purpose, Run
from homeostat.operators.actions.schedule import asked_s, trigger_of, wait_until
from homeostat.operators.actions.world import Fault, Fresh, Lost, Need, Plan, Underway, World

__all__ = ["decide", "need_of"]

_POLL_S = 10.0
_AGAIN = timedelta(seconds=30)
_GIVEN_UP_AFTER = timedelta(days=1)


def need_of(resource: Resource, status: ResourceStatus, digest: str, now: datetime) -> Need:
    """What is to be looked at, before a decision can be made."""
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
    look = Look(resource, status, world)
    match need_of(resource, status, world.digest, world.now):
        case "nothing":
            return Decision()
        case "rest":
            return _rest(look)
        case "follow":
            return _follow(look)
        case "verify" | "conclude":
            return _conclude(look)
        case "destroy":
            if isinstance(world.seen, Fault):
                return fail(look, world.seen)
            return _begin(look, "destroy")
        case "plan":
            return _after_plan(look)


def _rest(look: Look) -> Decision[Action]:
    wait = wait_until(look.status.next_run, look.world.now)
    if look.resource.is_terminating:
        raise Wait(conditions.DESTROY_FAILED, wait, message=look.status.message)
    return Decision(conditions=conditions.of_rest(look.status), requeue_after=wait)


def _after_plan(look: Look) -> Decision[Action]:
    match look.world.seen:
        case Plan(is_changed=None):
            return _begin(look, "plan")
        case Plan(is_changed=True) as plan:
            return _begin(look, "apply", plan)
        case Plan(is_assumed=True) as plan if look.trigger == "manual":
            # Who asks by hand has a reason to doubt it.
            return _begin(look, "apply", plan)
        case Plan() as plan:
            return succeed(look, _unchanged(plan))
        case Fault() as fault:
            return fail(look, fault)
        case other:
            raise _unexpected("a plan", other)


def _unchanged(plan: Plan) -> Outcome:
    again = plan.again_after_seconds
    return Outcome(is_success=True, output=plan.output, again_after_seconds=again, outputs=plan.outputs)


def _begin(look: Look, purpose: Purpose, plan: Plan | None = None) -> Decision[Action]:
    """Records what is about to be done; it is started by the look that finds the record."""
    run = _new_run(look, purpose, plan or Plan(None))
    status = {
        "run": msgspec.to_builtins(run),
        "sequence": look.status.sequence + 1,
        "retries": look.retries_before,
        **({"hasEffects": True} if purpose == "apply" else {}),
    }
    if purpose == "plan" and look.status.phase == "ready":
        # Looking for drift is no reason to doubt what was seen before.
        return Decision((Begin(run.ticket),), status=status)
    phase = "deleting" if purpose == "destroy" else "reconciling"
    status |= {"phase": phase, "message": conditions.started_message(purpose)}
    notices = (_drift_notice(run),) if run.is_drift else ()
    return Decision((Begin(run.ticket),), conditions.of_start(purpose), status=status, notices=notices)


def _new_run(look: Look, purpose: Purpose, plan: Plan) -> Run:
    return Run(
        ticket=f"{look.resource.metadata.uid}-{look.status.sequence + 1}",
        purpose=purpose,
        trigger=look.trigger,
        digest=look.world.digest,
        generation=look.resource.metadata.generation,
        plugin=look.world.plugin,
        declaration=look.world.declaration,
        began=format_micro_time(look.world.now),
        requested=look.requested,
        is_drift=plan.is_changed is True and _was_as_declared(look),
        plan=plan.output,
        changes=plan.changes,
    )


def _was_as_declared(look: Look) -> bool:
    """What differs now has changed by itself: neither the declaration did, nor was it never brought about."""
    return look.trigger == "scheduled" or (look.trigger == "manual" and look.status.phase == "ready")


def _drift_notice(run: Run) -> Notice:
    counts = run.changes
    told = f"{counts.created} to create, {counts.updated} to update, {counts.deleted} to delete"
    return Notice("Warning", "DriftDetected", f"Drift detected: {told}")


def _follow(look: Look) -> Decision[Action]:
    run = look.status.run
    assert run is not None
    match look.world.seen:
        case Fresh() | Lost(is_restartable=True) if _is_wanted(look, run):
            return Decision((Start(run),))
        case Fresh() | Lost():
            return _abandon(look, run)
        case Underway(handle=handle, again_after_s=after_s):
            if handle is not None and handle != run.handle:
                return Decision((Adopt(replace(run, handle=handle)),))
            return _wait(look, run, timedelta(seconds=asked_s(after_s, _POLL_S)))
        case Outcome() as outcome:
            return Decision((Adopt(replace(run, outcome=outcome)),))
        case Fault(reason=reason, message=message, is_certain=False) if not _is_given_up(look, run):
            raise Wait(reason, _AGAIN, message=f"Cannot read run status: {message}")
        case Fault(reason=reason, message=message):
            outcome = Outcome(is_success=False, reason=reason, message=message)
            return Decision((Adopt(replace(run, outcome=outcome)),))
        case other:
            raise _unexpected("the state of the run", other)


def _is_given_up(look: Look, run: Run) -> bool:
    """What cannot be followed may still be running, so it is not taken for failed, but neither waited for for ever."""
    return look.world.now - parse_time(run.began) >= _GIVEN_UP_AFTER


def _is_wanted(look: Look, run: Run) -> bool:
    """Whether a run that was not started yet is still what the resource asks for."""
    return run.digest == look.world.digest and look.resource.is_terminating == (run.purpose == "destroy")


def _abandon(look: Look, run: Run) -> Decision[Action]:
    return Decision((Abandon(run.ticket),), status={"run": None, "nextRun": format_micro_time(look.world.now)})


def _wait(look: Look, run: Run, after: timedelta) -> Decision[Action]:
    if look.resource.is_terminating:
        raise Wait(conditions.STARTED, after, message=conditions.started_message(run.purpose))
    is_quiet = run.purpose == "plan" and look.status.phase == "ready"
    return Decision(conditions=() if is_quiet else conditions.of_start(run.purpose), requeue_after=after)


def _conclude(look: Look) -> Decision[Action]:
    run = look.status.run
    assert run is not None
    outcome = run.outcome
    assert outcome is not None
    if not outcome.is_success:
        return fail(look, Fault(outcome.reason or "Failed", outcome.message), outcome)
    is_current = _is_current(look.resource, run, look.world.digest)
    match run.purpose:
        case "destroy":
            return finish_destroy(look, outcome)
        case "plan" if not is_current:
            return _abandon(look, run)
        case "plan" if outcome.is_changed:
            return _begin(look, "apply", Plan(True, outcome.changes, outcome.output))
        case "apply" if is_current:
            return _verify(look, outcome)
        case _:
            return succeed(look, outcome)


def _verify(look: Look, outcome: Outcome) -> Decision[Action]:
    """A status is what was seen and not what was done; where seeing takes a run, the outcome of this one must do."""
    match look.world.seen:
        case Plan(is_changed=True) as plan:
            told = "applied, but a plan made afterwards still shows changes"
            return fail(look, Fault("NotConverged", told), outcome, plan=plan.output)
        case Plan(again_after_seconds=again):
            return succeed(look, outcome if again is None else replace(outcome, again_after_seconds=again))
        case Fault() as fault:
            return fail(look, fault, outcome)
        case other:
            raise _unexpected("a plan", other)


def _unexpected(wanted: str, seen: object) -> ValueError:
    return ValueError(f"expected to observe {wanted}, not {type(seen).__name__}")
