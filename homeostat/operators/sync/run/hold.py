"""Why a step of a plan, or all of it, is not carried out now. Pure.

| reason | what is held |
|---|---|
| `mode: observe` | everything |
| a closed window, or a server that asked to wait | everything, until a time |
| a verb that the policy does not allow | the steps with that verb |
| a resource that the server asked to retry later | that step, until a time |
| a declared resource of the same collection that could not be read or compared: it may be the same object | deletions |
| an object below it that is declared, protected or held: servers delete both | the deletion of the object above |
| more deletions than the limit | all deletions |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Final

from msgspec.structs import replace

from homeostat.objects.time.timestamp import format_time
from homeostat.objects.time.window import WindowError, frozen_until, opens_at, parse_windows
from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.paths.logical import parent
from homeostat.operators.sync.engine.plan.ownership import check_limit
from homeostat.operators.sync.run.options import SyncOptions
from homeostat.operators.sync.run.plan import Step
from homeostat.operators.sync.run.record import Record

NEVER: Final = datetime.max.replace(tzinfo=UTC)


def closed_until(options: SyncOptions, now: datetime) -> datetime | None:
    """When the windows allow changes again, which may be `NEVER`; None if they allow them now. `ValidationError` for an
    invalid window.
    """
    try:
        allow, deny = parse_windows(options.allow_windows), parse_windows(options.deny_windows)
    except WindowError as error:
        raise ValidationError(f"invalid window: {error}") from error
    denied = frozen_until(deny, now)
    if denied is not None:
        return denied
    if not allow or frozen_until(allow, now) is not None:
        return None
    return opens_at(allow, now) or NEVER


def held_plan(options: SyncOptions, record: Record, now: datetime) -> tuple[str, datetime | None]:
    """Why nothing is carried out, and until when; empty if the plan may be carried out."""
    if options.mode == "observe":
        return "mode is observe", None
    if (closed := closed_until(options, now)) is not None:
        if closed == NEVER:
            return "no future window allows changes; set allowWindows", None
        return f"the windows allow no changes until {format_time(closed)}", closed
    waiting = record.not_before.get("", 0.0)
    if waiting > now.timestamp():
        until = datetime.fromtimestamp(waiting, UTC)
        return f"the server asked to wait until {format_time(until)}", until
    return "", None


def held_steps(
    steps: Iterable[Step], options: SyncOptions, record: Record, now: datetime, has_declared: Callable[[str], bool]
) -> list[Step]:
    """`has_declared` says whether anything is declared below a path."""
    given = list(steps)
    unknown = {parent(each.path): each.path for each in given if each.action == "unknown"}
    found = _without_parents([_uncertain(_held(each, options, record, now), unknown) for each in given], has_declared)
    deletions = sum(each.action == "delete" and each.is_due for each in found)
    try:
        check_limit(deletions, len(record.owned), options.limit)
    except ValidationError as error:
        return [replace(each, held=str(error)) if each.action == "delete" and each.is_due else each for each in found]
    return found


def _without_parents(steps: list[Step], has_declared: Callable[[str], bool]) -> list[Step]:
    """With those deletions held that would delete something below, too, which has to stay."""
    stays = {each.path for each in steps if each.held and each.action == "delete"}
    above = {"/".join(parts[:count]) for each in stays if (parts := each.split("/")) for count in range(2, len(parts))}
    found = list[Step]()
    for each in steps:
        if each.action == "delete" and each.is_due and (each.path in above or has_declared(each.path)):
            found.append(replace(each, held="an object below it is declared or held, and would be deleted with it"))
        else:
            found.append(each)
    return found


def _uncertain(step: Step, unknown: Mapping[str, str]) -> Step:
    other = unknown.get(parent(step.path))
    if step.action != "delete" or not step.is_due or other is None:
        return step
    return replace(step, held=f"{other} is unknown, and may declare the same object")


def _held(step: Step, options: SyncOptions, record: Record, now: datetime) -> Step:
    if not step.is_due:
        return step
    if step.action not in options.verbs:
        return replace(step, held=f"verb {step.action} is not allowed; allowed: {', '.join(options.verbs) or 'none'}")
    waiting = record.not_before.get(step.path, 0.0)
    if waiting > now.timestamp():
        return replace(step, held=f"retry is allowed from {format_time(datetime.fromtimestamp(waiting, UTC))}")
    return step
