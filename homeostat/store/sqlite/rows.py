"""Parameters and conditions of SQLite's statements on the log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from homeostat.store.base import Event, Scope
from homeostat.store.rows import OPERATIONS
from homeostat.store.seal import Seal

COLUMNS = 9


def parameters(events: Sequence[Event], at: float, seal: Seal) -> Iterator[Any]:
    """The column values of the events' rows in one flat sequence, in the order of the table."""
    for event in events:
        record, previous = event.record, event.previous
        key = record.key
        yield from (record.revision, *key, OPERATIONS[event.type], record.created)
        yield previous.revision if previous is not None else 0
        yield seal.close(key, record.revision, record.value)
        yield at


def scope_filter(scope: Scope) -> tuple[str, list[str]]:
    """A condition on the log for the scope, and its parameters."""
    condition, given = "log.resource = ?", [scope.resource]
    if scope.namespace or scope.name:
        condition, given = f"{condition} AND log.namespace = ?", [*given, scope.namespace]
    if scope.name:
        condition, given = f"{condition} AND log.name = ?", [*given, scope.name]
    return condition, given
