"""Decides when a SyncPolicy is synced, and what its conditions say. Pure.

A sync is due when something that it depends on differs from the last sync (the policy, a dependency, a Secret, the
revision, a request by annotation), when `syncInterval` has passed since everything was compared, when the cron
expression says so, and when it is time to retry a failed sync. Everything is compared, but for a new revision alone:
that is incremental.

The first action notes the attempt in the status, so that it is visible while it runs. The second one syncs. A process
that is killed in between begins again with the second one.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final

from msgspec.structs import replace

from homeostat.objects.conditions import READY, STALLED, Condition, find
from homeostat.objects.decision import Decision, Notice
from homeostat.objects.time.timestamp import format_time, parse_time
from homeostat.operators.sync.api.policy import REQUESTED, Mode, PolicyStatus, SyncPolicy, plan_request
from homeostat.operators.sync.conditions import (
    SPEC_INVALID,
    SUSPENDED,
    Conditions,
    cut,
    failed,
    of_policy,
    succeeded,
    transition_notices,
)
from homeostat.operators.sync.policies.world import Action, Begin, Preview, Sync, World
from homeostat.operators.sync.run.report import Report
from homeostat.operators.sync.validation.cron import is_cron_due, next_time
from homeostat.operators.sync.validation.specs import sentence

NOT_READY_S: Final = 30.0
SUCCESS: Final = "sync successful"
SHARED_SCOPE: Final = "SharedScope"
FIRST_RETRY_S: Final = 5.0
LONGEST_RETRY_S: Final = 1000.0
_SOONEST: Final = timedelta(seconds=1)
_MOST_PATHS: Final = 3
_INPUTS: Final = ("policy changed", "dependency changed", "secret changed", "request", "new revision")
Plan = Decision[Action]


def decide(policy: SyncPolicy, world: World) -> Plan:
    if policy.is_terminating:
        return Decision()
    plan, (conditions, notices) = _decide(policy, world), _shared(policy, world)
    return replace(plan, conditions=(*plan.conditions, *conditions), notices=(*plan.notices, *notices))


def _shared(policy: SyncPolicy, world: World) -> tuple[Conditions, tuple[Notice, ...]]:
    """A warning, and an Event if it is new. It stops no sync: no namespace may stop the policies of another one."""
    before = find(policy.read_status(PolicyStatus).conditions, SHARED_SCOPE)
    if not world.elsewhere:
        none = Condition(SHARED_SCOPE, "False", "NoOverlap", "no other namespace syncs this part of the server")
        return ((none,) if before is not None else ()), ()
    text = (
        f'a SyncPolicy of namespace "{world.elsewhere}" syncs an overlapping path of the same server URL, and both may '
        "undo each other's changes; choose other paths, or delete one of them"
    )
    now = Condition(SHARED_SCOPE, "True", "OverlappingNamespaces", text)
    is_new = before is None or (before.status, before.message) != (now.status, now.message)
    return (now,), ((Notice("Warning", now.reason, text),) if is_new else ())


def _decide(policy: SyncPolicy, world: World) -> Plan:
    if world.causes:
        return _stop(policy, failed(SPEC_INVALID, sentence(list(world.causes))))
    if world.spec.suspend:
        if not world.rival and _unready(policy, world) is None and (plan := _preview(policy, world)) is not None:
            return plan
        text = "sync is suspended"
        return _stop(policy, (Condition(READY, "False", SUSPENDED, text), Condition(STALLED, "False", SUSPENDED, text)))
    if world.rival:
        text = f'SyncPolicy "{world.rival}" is older and syncs an overlapping path of the same server'
        return _stop(policy, failed("OverlappingPolicy", text))
    return _unready(policy, world) or _preview(policy, world) or _decide_due(policy, world)


def _preview(policy: SyncPolicy, world: World) -> Plan | None:
    """A plan that somebody requested comes before the next sync, and after one that has begun."""
    status = policy.read_status(PolicyStatus)
    requested = plan_request(policy)
    if not requested or status.attempt is not None or (status.plan is not None and status.plan.request == requested):
        return None
    return Decision((Preview(world.revision, requested),))


def _stop(policy: SyncPolicy, conditions: Conditions, after_s: float | None = None) -> Plan:
    return Decision(
        conditions=of_policy(conditions),
        notices=transition_notices(
            policy, conditions, conditions[0].reason, is_warning=conditions[0].reason != SUSPENDED
        ),
        requeue_after=None if after_s is None else timedelta(seconds=after_s),
        status={"attempt": None},
    )


def _unready(policy: SyncPolicy, world: World) -> Plan | None:
    for each in world.dependencies:
        if each.state == "missing":
            text = f'{each.kind} "{each.name}" does not exist'
            return _stop(policy, failed("DependencyInvalid", text), NOT_READY_S)
    for each in world.dependencies:
        if each.state == "unready":
            text = f'{each.kind} "{each.name}" is not ready{each.message and f": {each.message}"}'
            return _stop(policy, failed("DependencyNotReady", text), NOT_READY_S)
    if not world.revision:
        return _stop(policy, failed("DependencyInvalid", "the repository has no revision yet"), world.poll_s)
    return None


def _decide_due(policy: SyncPolicy, world: World) -> Plan:
    status = policy.read_status(PolicyStatus)
    inputs = inputs_of(policy, world)
    attempt = status.attempt
    if attempt is not None:
        # Begun by us just now, or by a process that has ended since.
        mode, trigger, began = attempt.mode, attempt.trigger, attempt.time
        if mode == "incremental":
            mode, trigger = due(policy, status, world) or (mode, trigger)
        base = status.last_applied_repo_revision or ""
        action = Sync(
            mode=mode,
            trigger=trigger,
            base=base if mode == "incremental" else "",
            revision=world.revision,
            inputs=inputs,
            secrets_hash=world.secrets_hash,
            dependencies_hash=world.dependencies_hash,
            began=began,
        )
        return Decision((action,), _running(status, trigger))
    found = due(policy, status, world)
    if found is None:
        return _settled(policy, status, world)
    mode, trigger = found
    begin = Begin(mode, trigger, world.revision, format_time(world.now))
    return Decision((begin,), _running(status, trigger))


def inputs_of(policy: SyncPolicy, world: World) -> str:
    """Identifies all that a sync depends on, but the server itself: a part for each of `_INPUTS`."""
    facts = (
        str(policy.metadata.generation),
        world.dependencies_hash,
        world.secrets_hash,
        policy.metadata.annotations.get(REQUESTED, ""),
        world.revision,
    )
    return ".".join(sha256(each.encode()).hexdigest()[:12] for each in facts)


def due(policy: SyncPolicy, status: PolicyStatus, world: World) -> tuple[Mode, str] | None:
    """The mode and the trigger of the sync that is due; None if none is."""
    if status.last_inputs_hash != inputs_of(policy, world):
        return _changed(policy, status, world)
    if status.failure is not None:
        is_past = parse_time(status.failure.retry_time) <= world.now
        return (status.failure.mode, "retry") if is_past else None
    if _is_interval_over(status, world):
        return "full", "interval"
    cron = world.spec.full_resync_cron
    if cron and is_cron_due(cron, _time(status.last_full_resync_time), world.now):
        return "full", "cron"
    return None


def _changed(policy: SyncPolicy, status: PolicyStatus, world: World) -> tuple[Mode, str]:
    """Full, unless nothing but the revision differs from what was applied."""
    requested = policy.metadata.annotations.get(REQUESTED, "")
    cron = world.spec.full_resync_cron
    reasons = (
        (_news(policy, status, world), not status.last_applied_repo_revision),
        ("policy changed", status.last_applied_generation != policy.metadata.generation),
        ("dependency changed", status.last_dependencies_hash != world.dependencies_hash),
        ("secret changed", status.last_secret_resource_version_hash != world.secrets_hash),
        ("request", requested != (status.last_handled_request or "")),
        ("retry", status.failure is not None and status.failure.mode == "full"),
        ("held changes", bool(status.held)),
        ("interval", _is_interval_over(status, world)),
        ("cron", bool(cron) and is_cron_due(cron or "", _time(status.last_full_resync_time), world.now)),
        ("new revision", not world.spec.source.recursive),
        # Applied before, and another sync failed since; or the hash is one of an earlier version.
        (_news(policy, status, world), status.last_applied_repo_revision == world.revision),
    )
    full = next((reason for reason, is_so in reasons if is_so), "")
    return ("full", full) if full else ("incremental", "new revision")


def _news(policy: SyncPolicy, status: PolicyStatus, world: World) -> str:
    """What differs from the last sync, where it does not differ from the last success: the last sync failed, or held
    all changes, as in observe mode.
    """
    if status.last_inputs_hash is None:
        return "first sync"
    # An earlier version wrote one hash of all inputs together.
    before = status.last_inputs_hash.split(".")
    pairs = zip(_INPUTS, before, inputs_of(policy, world).split("."), strict=False)
    found = [reason for reason, old, new in pairs if old != new] if len(before) == len(_INPUTS) else []
    return found[0] if found else "changed inputs"


def _is_interval_over(status: PolicyStatus, world: World) -> bool:
    last = _time(status.last_full_resync_time)
    return last is None or world.now >= last + timedelta(seconds=world.interval_s)


def _running(status: PolicyStatus, trigger: str) -> Conditions:
    """Ready and Stalled stay as they are; an object that never was ready does not become so by beginning."""
    text = f"sync is running ({trigger})"
    stalled = find(status.conditions, STALLED) or Condition(STALLED, "False", "Reconciling", text)
    before = [Condition(STALLED, stalled.status, stalled.reason, stalled.message)]
    if find(status.conditions, READY) is None:
        before.append(Condition(READY, "Unknown", "Reconciling", text))
    return of_policy(tuple(before), is_running=True, reason="Reconciling", message=text)


def _settled(policy: SyncPolicy, status: PolicyStatus, world: World) -> Plan:
    after = _next(status, world)
    failure = status.failure
    if failure is not None:
        conditions = failed(failure.reason, failure.message)
        return Decision(conditions=of_policy(conditions), requeue_after=after)
    if status.held and world.spec.sync.mode == "enforce":
        text = cut(f"{status.held} changes are held: {status.held_message or ''}")
        conditions = (Condition(READY, "False", "ChangesHeld", text), Condition(STALLED, "False", "ChangesHeld", text))
        return Decision(
            conditions=of_policy(conditions),
            requeue_after=after,
            notices=transition_notices(policy, conditions, "ChangesHeld"),
        )
    return Decision(conditions=of_policy(succeeded(_success(status, world))), requeue_after=after)


def _success(status: PolicyStatus, world: World) -> str:
    if world.spec.sync.mode == "observe":
        count = status.drifted or 0
        return f"{SUCCESS}: {count} {'resource differs' if count == 1 else 'resources differ'}; mode is observe"
    return SUCCESS


def _next(status: PolicyStatus, world: World) -> timedelta:
    """Until the interval, the cron expression, or the retry of a failure."""
    if status.failure is not None:
        return max(parse_time(status.failure.retry_time) - world.now, _SOONEST)
    last = _time(status.last_full_resync_time) or world.now
    times = [last + timedelta(seconds=world.interval_s)]
    if world.spec.full_resync_cron:
        times.append(next_time(world.spec.full_resync_cron, last))
    return max(min(times) - world.now, _SOONEST)


def retry_delay_s(failures: int) -> float:
    """Doubles with each failure in a row."""
    return min(FIRST_RETRY_S * float(1 << min(failures - 1, 30)), LONGEST_RETRY_S)


def _time(text: str | None) -> datetime | None:
    return parse_time(text) if text else None


def success_notice(revision: str, report: Report, *, is_observing: bool) -> Notice:
    """In the mode observe nothing was applied, so it says what would have been."""
    held = [each.path for each in report.held]
    if is_observing:
        more = f" and {len(held) - _MOST_PATHS} more" if len(held) > _MOST_PATHS else ""
        paths = f"would change {', '.join(held[:_MOST_PATHS])}{more}" if held else "nothing differs"
        counts = f"mode={report.mode} differing={len(held)} targeted={report.targeted}"
        return Notice("Normal", "SyncSucceeded", cut(f"compared with revision {revision} ({counts}): {paths}"))
    counts = f"mode={report.mode} applied={report.applied} pruned={report.pruned} targeted={report.targeted}"
    counts += f" held={len(held)}" if held else ""
    return Notice("Normal", "SyncSucceeded", f"sync completed at revision {revision} ({counts})")
