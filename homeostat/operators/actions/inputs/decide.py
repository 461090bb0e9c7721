"""Decides which resources an input applies and deletes, and what its status reports. Pure.

Promises, each tested: resources that somebody else or another input created are not touched, and the conflict is
reported; nothing is deleted while a part of the source is invalid, nor more at once than the input allows; if a
resource is declared twice, neither declaration counts and the resource stays as it is; what the server refused is
reported and retried later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from math import ceil
from typing import Final

import msgspec

from homeostat.objects.conditions import READY, Condition, find
from homeostat.objects.decision import Decision, Notice, Wait
from homeostat.objects.json import JsonObject
from homeostat.objects.time.timestamp import format_time
from homeostat.operators.actions.inputs.api import MOST_ERRORS, ResourceInput, ResourceInputStatus, SourceError
from homeostat.operators.actions.inputs.plugins.reading import Declaration, Reading
from homeostat.operators.actions.inputs.wanted import Live

_TOGETHER: Final = 200
_LONGEST_TOLD: Final = 500
_CHECK_AGAIN: Final = timedelta(seconds=10)
_LONGEST_RETRY_S: Final = 60.0

Key = tuple[str, str]


class Write(msgspec.Struct, frozen=True):
    """Apply these declarations; `is_owned` says for each whether the input already owns the resource."""

    declarations: tuple[Declaration, ...]
    is_owned: tuple[bool, ...]


class Remove(msgspec.Struct, frozen=True):
    """Delete these resources, by kind, name and uid."""

    resources: tuple[tuple[str, str, str], ...]


InputAction = Write | Remove


class ReadFailure(msgspec.Struct, frozen=True):
    """The source could not be read, so its declarations are unknown."""

    reason: str
    message: str


class SourceWorld(msgspec.Struct, frozen=True, kw_only=True):
    """`live` are the resources of the input, and other resources with declared names. `refused` are messages by key."""

    now: datetime
    reading: Reading | ReadFailure
    kinds: frozenset[str]
    """The kinds that are defined."""
    live: Mapping[Key, Live]
    refused: Mapping[Key, str]


class FeedWorld(msgspec.Struct, frozen=True, kw_only=True):
    is_connected: bool
    trouble: ReadFailure | None
    taken: int
    rejected: int
    errors: tuple[SourceError, ...] = ()


class DeletionWorld(msgspec.Struct, frozen=True):
    """The input is being deleted."""

    live: Mapping[Key, Live]


InputWorld = SourceWorld | FeedWorld | DeletionWorld


def decide_input(obj: ResourceInput, world: InputWorld) -> Decision[InputAction]:
    match world:
        case DeletionWorld(live):
            if obj.spec.deletion_policy == "Orphan":
                return Decision()
            return Decision(tuple(_removals(_owned(obj, live))))
        case FeedWorld():
            return _of_feed(obj, world)
        case SourceWorld():
            return _of_source(obj, world, _known(obj, world.reading))


def _known(obj: ResourceInput, reading: Reading | ReadFailure) -> Reading:
    if isinstance(reading, ReadFailure):
        after_s = min(obj.spec.interval_seconds, _LONGEST_RETRY_S)
        raise Wait(reading.reason, timedelta(seconds=after_s), message=reading.message)
    return reading


class _Sorting:
    """Sorts declarations: to write, applied, being deleted, or erroneous."""

    def __init__(self, obj: ResourceInput, world: SourceWorld, reading: Reading) -> None:
        self._owner, self._world = obj.metadata.name, world
        self.writes: list[tuple[Declaration, bool]] = []
        self.errors = [_error(each.source, each.message) for each in reading.broken]
        self.applied = self.terminating = 0
        for same in _by_key(reading.declarations).values():
            if len(same) > 1:
                files = ", ".join(sorted({each.source for each in same}))
                self._wrong(same[0], f"declared {len(same)} times, in {files}")
            else:
                self._sort(same[0])

    def _sort(self, one: Declaration) -> None:
        live, refused = self._world.live.get(one.key), self._world.refused.get(one.key)
        if one.kind not in self._world.kinds:
            self._wrong(one, "no resource type has this kind")
        elif live is not None and live.owner != self._owner:
            whose = f'belongs to the input "{live.owner}"' if live.owner else "was not created by an input"
            self._wrong(one, f"a resource of this name already exists and {whose}")
        elif live is not None and live.is_terminating:
            self.terminating += 1
        elif live is not None and live.is_same:
            self.applied += 1
        elif refused is not None:
            self._wrong(one, refused)
        else:
            self.writes.append((one, live is not None))

    def _wrong(self, one: Declaration, message: str) -> None:
        self.errors.append(_error(one.source, f"{one.title}: {message}"))


def _error(source: str, message: str) -> SourceError:
    return SourceError(source=source[:_LONGEST_TOLD], message=message[:_LONGEST_TOLD])


def _of_source(obj: ResourceInput, world: SourceWorld, reading: Reading) -> Decision[InputAction]:
    found = _Sorting(obj, world, reading)
    surplus = _surplus(obj, world, reading)
    kept = _why_kept(obj, world, reading, surplus)
    actions: list[InputAction] = []
    for at in range(0, len(found.writes), _TOGETHER):
        declarations, owned = zip(*found.writes[at : at + _TOGETHER], strict=True)
        actions.append(Write(declarations, owned))
    if obj.spec.prune.is_enabled and not kept:
        actions += _removals(surplus)
        surplus = {}
    status = _status(obj, world.now, reading, found, len(surplus))
    ready = _ready(reading, found, kept, actions)
    return Decision(
        tuple(actions),
        (ready,),
        requeue_after=_CHECK_AGAIN if found.terminating else timedelta(seconds=obj.spec.interval_seconds),
        status=status,
        notices=_notices(obj, ready),
    )


def _surplus(obj: ResourceInput, world: SourceWorld, reading: Reading) -> dict[Key, Live]:
    declared = {each.key for each in reading.declarations}
    return {key: each for key, each in _owned(obj, world.live).items() if key not in declared}


def _why_kept(obj: ResourceInput, world: SourceWorld, reading: Reading, surplus: Mapping[Key, Live]) -> str:
    """Returns why surplus resources are not deleted; empty if they may be."""
    if not surplus or not obj.spec.prune.is_enabled:
        return ""
    if reading.broken:
        return f"{reading.broken[0].source} is invalid and may declare them"
    owned = len(_owned(obj, world.live))
    most = ceil(owned * obj.spec.prune.max_percent / 100)
    if len(surplus) > most:
        share = f"{obj.spec.prune.max_percent} % of the {owned} resources of the input"
        return f"they are more than {share}; raise prune.maxPercent to allow it"
    return ""


def _owned(obj: ResourceInput, live: Mapping[Key, Live]) -> dict[Key, Live]:
    owner = obj.metadata.name
    return {key: each for key, each in live.items() if each.owner == owner and not each.is_terminating}


def _removals(surplus: Mapping[Key, Live]) -> Iterable[InputAction]:
    named = [(kind, name, each.uid) for (kind, name), each in sorted(surplus.items())]
    return (Remove(tuple(named[at : at + _TOGETHER])) for at in range(0, len(named), _TOGETHER))


def _ready(reading: Reading, found: _Sorting, kept: str, actions: list[InputAction]) -> Condition:
    if actions:
        return Condition(READY, "Unknown", "Applying", f"Applying revision {reading.revision[:64]}")
    if found.errors:
        first = found.errors[0]
        message = f"{_number(len(found.errors), 'declaration')} failed; first failure: {first.source}: {first.message}"
        return Condition(READY, "False", "Incomplete", message)
    if kept:
        return Condition(READY, "False", "PruneRefused", f"Resources are no longer declared; not pruned: {kept}")
    return Condition(READY, "True", "InSync", f"{_number(found.applied, 'resource')} applied")


def _status(obj: ResourceInput, now: datetime, reading: Reading, found: _Sorting, pending: int) -> JsonObject:
    before = obj.read_status(ResourceInputStatus)
    status: JsonObject = {
        "revision": reading.revision,
        "declared": len(reading.declarations),
        "applied": found.applied,
        "failed": len(found.errors),
        "pendingDeletions": pending,
        "errors": [msgspec.to_builtins(each) for each in found.errors[:MOST_ERRORS]],
    }
    if before.revision != reading.revision or before.revision_time is None:
        status["revisionTime"] = format_time(now)
    return status


def _notices(obj: ResourceInput, ready: Condition) -> tuple[Notice, ...]:
    before = find(obj.read_status(ResourceInputStatus).conditions, READY)
    if ready.status == "False" and (before is None or (before.reason, before.message) != (ready.reason, ready.message)):
        return (Notice("Warning", ready.reason, ready.message),)
    return ()


def _of_feed(obj: ResourceInput, world: FeedWorld) -> Decision[InputAction]:
    status: JsonObject = {
        "taken": world.taken,
        "rejected": world.rejected,
        "errors": [msgspec.to_builtins(each) for each in world.errors[-MOST_ERRORS:]],
    }
    if world.trouble is not None:
        ready = Condition(READY, "False", world.trouble.reason, world.trouble.message)
    elif not world.is_connected:
        ready = Condition(READY, "Unknown", "Connecting", "Connecting to the source")
    else:
        ready = Condition(READY, "True", "Connected", "Connected; receiving declarations")
    interval = timedelta(seconds=obj.spec.interval_seconds)
    return Decision(conditions=(ready,), requeue_after=interval, status=status, notices=_notices(obj, ready))


def _by_key(declarations: Iterable[Declaration]) -> dict[Key, list[Declaration]]:
    found: dict[Key, list[Declaration]] = {}
    for each in declarations:
        found.setdefault(each.key, []).append(each)
    return found


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
