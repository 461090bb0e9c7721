"""Plans a batch of changes: the algorithm that every store shares. Pure.

A batch is planned against the state on which it will be committed. Each change sees the earlier changes of the batch,
so two writers that expect the same revision cannot both succeed. The caller commits the events before readers see them.
If the commit fails, the plan is discarded and its revisions are assigned again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import NamedTuple

from homeostat.store.base import Change, Delete, Event, Key, Put, Record, RevisionMismatchError


class Joint(NamedTuple):
    """The outcome of a change with others beside it in its commit."""

    main: Event | Record
    others: list[Event]


Outcome = Event | Record | RevisionMismatchError | Joint
"""The event of a change, the record of a change that changed nothing, or the error."""


def plan(batch: Iterable[Change], revision: int, current: Callable[[Key], Record | None]) -> list[Outcome]:
    """One outcome per change, in order. The events get consecutive revisions after `revision`."""
    outcomes: list[Outcome] = []
    overlay: dict[Key, Record | None] = {}
    for change in batch:
        if change.also:
            outcome = _decide_all(change, revision, lambda key: overlay[key] if key in overlay else current(key))
            outcomes.append(outcome)
            for event in events_of([outcome]):
                revision = event.record.revision
                overlay[event.record.key] = None if event.type == "DELETED" else event.record
            continue
        found = overlay[change.key] if change.key in overlay else current(change.key)
        outcome = _decide(change, found, revision + 1)
        outcomes.append(outcome)
        if isinstance(outcome, Event):
            revision += 1
            overlay[change.key] = None if outcome.type == "DELETED" else outcome.record
    return outcomes


def events_of(outcomes: Iterable[Outcome]) -> list[Event]:
    events: list[Event] = []
    for outcome in outcomes:
        if isinstance(outcome, Event):
            events.append(outcome)
        elif isinstance(outcome, Joint):
            events += outcome.others
            if isinstance(outcome.main, Event):
                events.append(outcome.main)
    return events


def _decide_all(change: Change, revision: int, current: Callable[[Key], Record | None]) -> Outcome:
    others: list[Event] = []
    for each in (*change.also, change):
        outcome = _decide(each, current(each.key), revision + 1)
        if isinstance(outcome, RevisionMismatchError):
            return outcome
        if each is change:
            return Joint(outcome, others)
        if isinstance(outcome, Event):
            revision += 1
            others.append(outcome)
    raise AssertionError("unreachable")


def _decide(change: Change, current: Record | None, revision: int) -> Event | Record | RevisionMismatchError:
    key, draft = change.key, change.draft
    if current is None:
        if change.expect or isinstance(change, Delete):
            return RevisionMismatchError(key, change.expect, None)
        record = Record(canonical(*key), draft.at(revision), revision, revision, change.note)
        return Event("ADDED", record, None)
    if change.expect != current.revision:
        return RevisionMismatchError(key, change.expect, current)
    if isinstance(change, Delete):
        return Event("DELETED", Record(current.key, draft.at(revision), revision, current.created), current)
    if _is_same(change, current):
        return current
    record = Record(current.key, draft.at(revision), revision, current.created, change.note)
    return Event("MODIFIED", record, current, tag=change.tag)


def _is_same(change: Put, current: Record) -> bool:
    head, tail = change.draft
    value = current.value
    return value.startswith(head) and value.endswith(tail) and change.draft.at(current.revision) == value


def canonical(resource: str, namespace: str, name: str) -> Key:
    """The key with interned resource and namespace, so that all records share the strings."""
    return Key(sys.intern(resource), sys.intern(namespace), name)
