"""Databases that backups are made of and restored to, in tests of every pair of them."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol
from uuid import uuid4

from homeostat.store.backup.backup import back_up, restore, verify
from homeostat.store.backup.file import Header
from homeostat.store.backup.rows import Row, Source, Target
from homeostat.store.base import Event, Key, Record, Scope, Store
from homeostat.store.postgres import PostgresStore
from homeostat.store.postgres.transfer import PostgresSource, PostgresTarget
from homeostat.store.seal import Seal
from homeostat.store.sqlite import SqliteStore
from homeostat.store.sqlite.transfer import SqliteSource, SqliteTarget
from tests.store.contract import Subscriber

NOW = 1_800_000_000.0
RESOURCES = ("pods", "secrets")


class Place(Protocol):
    """A database that does not exist yet."""

    async def open(self, *, sealed: Collection[str] = (), key: bytes | None = None) -> Store: ...
    @asynccontextmanager
    def source(self, *, is_exclusive: bool = False) -> AsyncIterator[Source]: ...
    @asynccontextmanager
    def target(self, seal: Seal = Seal()) -> AsyncIterator[Target]: ...  # noqa: B008


class SqlitePlace:
    def __init__(self, folder: Path) -> None:
        self.path = folder / f"{uuid4().hex}.db"

    async def open(self, *, sealed: Collection[str] = (), key: bytes | None = None) -> Store:
        return await SqliteStore.open(self.path, sealed=sealed, key=key, history_events=0)

    @asynccontextmanager
    async def source(self, *, is_exclusive: bool = False) -> AsyncIterator[Source]:
        async with SqliteSource.open(self.path, is_exclusive=is_exclusive) as source:
            yield source

    @asynccontextmanager
    async def target(self, seal: Seal = Seal()) -> AsyncIterator[Target]:  # noqa: B008
        async with SqliteTarget.open(self.path, seal=seal, now=time.time()) as target:
            yield target


class PostgresPlace:
    def __init__(self, url: str) -> None:
        self.url = url
        self.schema = f"test_{uuid4().hex}"

    async def open(self, *, sealed: Collection[str] = (), key: bytes | None = None) -> Store:
        return await PostgresStore.open(self.url, schema=self.schema, sealed=sealed, key=key, history_events=0)

    @asynccontextmanager
    async def source(self, *, is_exclusive: bool = False) -> AsyncIterator[Source]:
        async with PostgresSource.open(self.url, schema=self.schema, is_exclusive=is_exclusive) as source:
            yield source

    @asynccontextmanager
    async def target(self, seal: Seal = Seal()) -> AsyncIterator[Target]:  # noqa: B008
        async with PostgresTarget.open(self.url, schema=self.schema, seal=seal) as target:
            yield target


async def backed_up(place: Place, path: Path) -> Header:
    async with place.source() as source:
        return await back_up(source, path, now=NOW)


async def restored(path: Path, place: Place, *, seal: Seal | None = None, resume: bool = False) -> int:
    verified = await verify(path, seal=seal or Seal())
    async with place.target(seal or Seal()) as target:
        return await restore(verified, target, now=NOW, resume=resume)


async def rows_of(place: Place) -> list[Row]:
    async with place.source() as source:
        return [row async for rows in source.chunks() for row in rows]


def facts(records: Sequence[Record]) -> list[tuple[Key, int, int, bytes]]:
    return [(record.key, record.revision, record.created, record.value) for record in records]


def state_of(store: Store) -> list[tuple[Key, int, int, bytes]]:
    return [fact for resource in RESOURCES for fact in facts(store.select(Scope(resource)))]


async def history_of(store: Store, since: int) -> list[Event]:
    subscriber = Subscriber()
    for resource in RESOURCES:
        (await store.subscribe(Scope(resource), since=since, deliver=subscriber)).close()
    return sorted(subscriber.events, key=lambda event: event.record.revision)
