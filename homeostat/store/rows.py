"""Conversion between rows of the log, in every database, and records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from homeostat.store.base import Event, Record, StoreError
from homeostat.store.log import canonical
from homeostat.store.seal import Seal

OPERATIONS = {"ADDED": 1, "MODIFIED": 2, "DELETED": 3}
TYPES: tuple[Literal["ADDED", "MODIFIED", "DELETED"], ...] = ("ADDED", "MODIFIED", "DELETED")

EVENT_COLUMNS = """
    log.resource, log.namespace, log.name, log.revision, log.created, log.value, log.operation, log.previous, old.value
"""
RECORD_COLUMNS = "log.resource, log.namespace, log.name, log.revision, log.created, log.value"


def record_of(row: Sequence[Any], seal: Seal) -> Record:
    resource, namespace, name, revision, created, value = row
    if value is None:
        raise StoreError(f'the store is corrupt: {resource} "{namespace}/{name}" is missing; restore a backup')
    key = canonical(resource, namespace, name)
    return Record(key, seal.open(key, revision, value), revision, created)


def event_of(row: Sequence[Any], seal: Seal) -> Event:
    *columns, operation, previous, value = row
    record = record_of(columns, seal)
    if not previous:
        return Event(TYPES[operation - 1], record, None)
    key = record.key
    return Event(TYPES[operation - 1], record, record_of((*key, previous, record.created, value), seal))
