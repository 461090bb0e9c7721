"""What the contract suite asks of a store: to open the same database again and again, and words to speak to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol
from uuid import uuid4

from homeostat.store.base import Delete, Draft, Event, Key, Put, Record, Scope, Store
from homeostat.store.postgres import PostgresStore
from homeostat.store.sqlite import SqliteStore

PODS = Scope("pods")


class StoreFactory(Protocol):
    async def open(self, *, history_events: int = 10_000) -> Store:
        """Open the one database of this factory, which the caller has closed if it was open."""


class SqliteFactory:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "homeostat.db"

    async def open(self, *, history_events: int = 10_000) -> SqliteStore:
        return await SqliteStore.open(self.path, history_events=history_events)


class PostgresFactory:
    """A schema of its own on a server that all share."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.schema = f"test_{uuid4().hex}"

    async def open(self, *, history_events: int = 10_000) -> PostgresStore:
        return await PostgresStore.open(self.url, schema=self.schema, history_events=history_events)


@asynccontextmanager
async def replicas(
    factory: PostgresFactory, count: int, *, history_events: int = 10_000
) -> AsyncIterator[list[PostgresStore]]:
    """Stores on one database, which move only when they are asked to."""
    opened = [await factory.open(history_events=history_events) for _ in range(count)]
    try:
        yield opened
    finally:
        for store in opened:
            await store.close()


def pod(name: str, namespace: str = "default") -> Key:
    return Key("pods", namespace, name)


def draft(text: str) -> Draft:
    return Draft(b"<", f":{text}>".encode())


async def put(store: Store, key: Key, text: str) -> Record:
    """Create, or replace what is there."""
    current = store.get(key)
    return await store.write(Put(key, draft(text), current.revision if current else 0))


async def remove(store: Store, key: Key) -> Record:
    current = store.get(key)
    assert current is not None
    return await store.write(Delete(key, draft("gone"), current.revision))


def names(records: Sequence[Record]) -> list[str]:
    return [f"{record.key.namespace}/{record.key.name}" for record in records]


class PieceReader:
    """A reader that remembers revisions, by the pieces in which it got them."""

    def __init__(self, *, fails: bool = False) -> None:
        self.pieces: list[list[int]] = []
        self.is_closed = False
        self._piece: list[int] = []
        self._fails = fails

    def deliver(self, event: Event) -> None:
        self._piece.append(event.record.revision)

    def flush(self) -> None:
        self.pieces.append(self._piece)
        self._piece = []
        if self._fails:
            raise RuntimeError("its stream is broken")

    def close(self) -> None:
        self.is_closed = True

    @property
    def revisions(self) -> list[int]:
        return [revision for piece in self.pieces for revision in piece]


class Subscriber:
    """A subscriber that remembers what it got, as (revision, type, name)."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        self.events.append(event)

    @property
    def summary(self) -> list[tuple[int, str, str]]:
        return [(event.record.revision, event.type, event.record.key.name) for event in self.events]

    @property
    def revisions(self) -> list[int]:
        return [event.record.revision for event in self.events]
