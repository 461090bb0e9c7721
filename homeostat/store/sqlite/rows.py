"""Rows of the log and the values they stand for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from homeostat.store.base import Event, Record, Scope, StoreError
from homeostat.store.log import canonical
from homeostat.store.seal import Seal

COLUMNS = 9
OPERATIONS = {"ADDED": 1, "MODIFIED": 2, "DELETED": 3}
_TYPES: tuple[Literal["ADDED", "MODIFIED", "DELETED"], ...] = ("ADDED", "MODIFIED", "DELETED")

EVENT_COLUMNS = """
    log.resource, log.namespace, log.name, log.revision, log.created, log.value, log.operation, log.previous, old.value
"""
RECORD_COLUMNS = "log.resource, log.namespace, log.name, log.revision, log.created, log.value"


def parameters(events: Sequence[Event], at: float, seal: Seal) -> Iterator[Any]:
    """The columns of the events' rows, one after another, in the order of the table."""
    for event in events:
        record, previous = event.record, event.previous
        key = record.key
        yield from (record.revision, *key, OPERATIONS[event.type], record.created)
        yield previous.revision if previous is not None else 0
        yield seal.close(key, record.revision, record.value)
        yield at


def record_of(row: Sequence[Any], seal: Seal) -> Record:
    resource, namespace, name, revision, created, value = row
    if value is None:
        raise StoreError(f'the log lacks {resource} "{namespace}/{name}", which it should have; restore a backup')
    key = canonical(resource, namespace, name)
    return Record(key, seal.open(key, revision, value), revision, created)


def event_of(row: Sequence[Any], seal: Seal) -> Event:
    *columns, operation, previous, value = row
    record = record_of(columns, seal)
    if not previous:
        return Event(_TYPES[operation - 1], record, None)
    key = record.key
    return Event(_TYPES[operation - 1], record, record_of((*key, previous, record.created, value), seal))


def scope_filter(scope: Scope) -> tuple[str, list[str]]:
    """A condition on the log for the scope, and its parameters."""
    condition, given = "log.resource = ?", [scope.resource]
    if scope.namespace or scope.name:
        condition, given = f"{condition} AND log.namespace = ?", [*given, scope.namespace]
    if scope.name:
        condition, given = f"{condition} AND log.name = ?", [*given, scope.name]
    return condition, given
