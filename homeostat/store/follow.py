"""Keeps what somebody derived from records up to date: all records of a scope now, then each change as it commits."""

from __future__ import annotations

from collections.abc import Callable

from homeostat.store.base import Event, Record, Scope, Store


async def follow(store: Store, scope: Scope, *, put: Callable[[Record], None], drop: Callable[[Record], None]) -> None:
    """Call `put` for each record that exists or changes, and `drop` for each that is deleted."""

    def deliver(event: Event) -> None:
        (drop if event.type == "DELETED" else put)(event.record)

    revision = store.revision
    for record in store.select(scope):
        put(record)
    await store.subscribe(scope, since=revision, deliver=deliver)
