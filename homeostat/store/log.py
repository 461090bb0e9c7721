"""What a batch of changes does to the log: the algorithm that every store shares, without I/O.

A batch is planned against the state it will be committed on. Each change sees the changes before it in the batch, so
two writers that expect the same revision cannot both win. The caller commits the events and shows nothing of the plan
before that; if the commit fails, the plan is void and its revisions are given again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

from homeostat.store.base import Change, Delete, Event, Key, Put, Record, RevisionMismatchError

Outcome = Event | Record | RevisionMismatchError
"""A change made, the record that a change left as it is, or a refusal."""


def plan(batch: Iterable[Change], revision: int, current: Callable[[Key], Record | None]) -> list[Outcome]:
    """One outcome a change, in order; the events take the revisions after `revision`, without a gap."""
    outcomes: list[Outcome] = []
    overlay: dict[Key, Record | None] = {}
    for change in batch:
        found = overlay[change.key] if change.key in overlay else current(change.key)
        outcome = _decide(change, found, revision + 1)
        outcomes.append(outcome)
        if isinstance(outcome, Event):
            revision += 1
            overlay[change.key] = None if outcome.type == "DELETED" else outcome.record
    return outcomes


def events_of(outcomes: Iterable[Outcome]) -> list[Event]:
    return [outcome for outcome in outcomes if isinstance(outcome, Event)]


def _decide(change: Change, current: Record | None, revision: int) -> Outcome:
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
    """The key, with one string object for all records of a resource and of a namespace."""
    return Key(sys.intern(resource), sys.intern(namespace), name)
