"""The rows of a log that is copied from one place to another, a summary of them, and the check of both.

A row is a change as the databases store it. Sealed values stay sealed, so copying needs no key. The summary
(`Contents`) is read at one moment. A `Replay` checks the rows against it: no row is missing or duplicated, each
replaces the record that was current before it, and the number of records at the end is the expected one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from homeostat.store.base import Key, StoreError
from homeostat.store.rows import OPERATIONS
from homeostat.store.seal import Seal

CHUNK_BYTES = 1 << 20
"""Bytes of values in one chunk of rows, or of one larger row: bounds the memory in use."""

_MOST_ROWS = 5_000
_DELETED = OPERATIONS["DELETED"]


class Row(NamedTuple):
    revision: int
    resource: str
    namespace: str
    name: str
    operation: int
    created: int
    previous: int
    value: bytes

    @property
    def key(self) -> Key:
        return Key(self.resource, self.namespace, self.name)


class Contents(msgspec.Struct, frozen=True, kw_only=True):
    """What a log holds at one moment."""

    revision: int
    oldest: int
    """History up to this revision was compacted."""
    swept: int
    """Compaction has deleted rows up to this revision. Every later revision has its row."""
    rows: int
    records: int
    """The number of current records."""
    seal: str
    """`Seal.description`: the id of the key, and the resources whose values it seals."""


class Source(Protocol):
    """A consistent snapshot of a log. Later writes do not show in it."""

    @property
    def contents(self) -> Contents: ...
    @property
    def is_restored(self) -> bool:
        """Whether the store has the mark of a restore."""

    def chunks(self) -> AsyncIterator[Sequence[Row]]:
        """All rows in the order of their revisions. Call it once."""


class Target(Protocol):
    """An empty store that is being filled. An error in its block rolls everything back."""

    async def add(self, rows: Sequence[Row]) -> None: ...

    def chunks(self) -> AsyncIterator[Sequence[Row]]:
        """The added rows, read back in the order of their revisions."""

    async def mark(self, *, revision: int, oldest: int, swept: int, is_restored: bool) -> None:
        """Set the newest revision, the start of history and the mark of a restore, after the rows were added."""


class Replay:
    """Takes rows in order and refuses rows that contradict the contents. With `seal` it also opens sealed values."""

    def __init__(self, contents: Contents, seal: Seal | None = None) -> None:
        self._contents = contents
        self._seal = seal
        self._newest = 0
        self._rows = 0
        self.live: set[int] = set()
        """Revisions of the records that are current after the rows so far."""

    def take(self, rows: Sequence[Row]) -> None:
        sealed = self._seal.resources if self._seal is not None else ()
        for row in rows:
            self._check_order(row)
            if row.previous and row.revision > self._contents.swept:
                self._supersede(row)
            if row.operation < _DELETED:
                self.live.add(row.revision)
            if row.resource in sealed and self._seal is not None:
                self._seal.open(row.key, row.revision, row.value)
        self._rows += len(rows)

    def finish(self) -> None:
        given = self._contents
        if self._rows != given.rows:
            raise StoreError(f"found {self._rows} changes, expected {given.rows}")
        if len(self.live) != given.records:
            raise StoreError(f"found {len(self.live)} records, expected {given.records}")
        if max(self._newest, given.swept) != given.revision:
            raise StoreError(f"the last change is revision {self._newest}, expected {given.revision}")

    def _check_order(self, row: Row) -> None:
        swept = self._contents.swept
        if row.revision <= self._newest:
            raise StoreError(f"revision {row.revision} follows {self._newest}")
        if row.revision > swept and row.revision != max(self._newest, swept) + 1:
            raise StoreError(f"revision {max(self._newest, swept) + 1} is missing")
        if row.revision <= swept and row.operation >= _DELETED:
            raise StoreError(f"revision {row.revision} is a deletion that should have been compacted")
        self._newest = row.revision

    def _supersede(self, row: Row) -> None:
        if row.previous not in self.live:
            raise StoreError(f"revision {row.revision} replaces {row.previous}, which does not exist")
        self.live.remove(row.previous)


class Chunker:
    """Collects rows until they fill a chunk."""

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._bytes = 0

    def add(self, row: Iterable[Any]) -> list[Row] | None:
        """Returns the chunk that this row completes; empty if it completes none."""
        made = Row._make(row)
        self._rows.append(made)
        self._bytes += len(made.value)
        return self.rest() if self._bytes >= CHUNK_BYTES or len(self._rows) >= _MOST_ROWS else None

    def rest(self) -> list[Row]:
        rows, self._rows, self._bytes = self._rows, [], 0
        return rows
