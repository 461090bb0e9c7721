"""The store's values and its protocol: an ordered log of changes and the state they add up to.

A list is the state at a revision, a watch is the log after a revision: the same question. Promises of every store, each
with a test in the contract suite:

- an acknowledged write is on disk before the answer;
- revisions increase strictly, in the order of commits, with no visible gap filled later;
- a write that changes nothing makes no revision and no event;
- a watch never skips, repeats or reorders;
- a slow watcher is cut off and never delays a writer.

The store knows keys, bytes and revisions. It knows nothing of Kubernetes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, Protocol

import msgspec


class Key(NamedTuple):
    """Where a record lives. `resource` is `pods` or `deployments.apps`; `namespace` is empty for cluster scope."""

    resource: str
    namespace: str
    name: str


class Scope(NamedTuple):
    """A set of keys: all of a resource, of one namespace in it, or, with a name, that one key."""

    resource: str
    namespace: str = ""
    name: str = ""


class Draft(NamedTuple):
    """A value whose revision is not known before the commit: `head`, the revision in decimal, `tail`."""

    head: bytes
    tail: bytes

    def at(self, revision: int) -> bytes:
        return b"%s%d%s" % (self.head, revision, self.tail)


class Record(msgspec.Struct, gc=False):
    """A value at a revision. Never changed once made, but for `note`."""

    key: Key
    value: bytes
    revision: int
    created: int
    """Revision of the record's creation."""
    note: Any = None
    """Data that a reader derived from `value` and caches with the record; not stored."""


class Put(NamedTuple):
    """Create (`expect` 0) or replace (`expect` the current revision)."""

    key: Key
    draft: Draft
    expect: int
    note: Any = None
    tag: str = ""
    """A remark of the writer for the current subscribers. Not stored, so readers of the log never see it."""
    also: tuple[Put, ...] = ()
    """Further changes in the same commit: all of them or none."""


class Delete(NamedTuple):
    """Delete the key. Watchers get `draft`, the last state, at the revision of the deletion."""

    key: Key
    draft: Draft
    expect: int
    also: tuple[Put, ...] = ()
    """As of a `Put`."""


Change = Put | Delete


class Event(msgspec.Struct, gc=False):
    """One change, as watchers see it. `previous` is None for a creation."""

    type: Literal["ADDED", "MODIFIED", "DELETED"]
    record: Record
    previous: Record | None
    frames: dict[Any, bytes] | None = None
    """Encodings of this event that readers share; not stored."""
    tag: str = ""
    """The `tag` of its `Put`."""


class Page(NamedTuple):
    records: Sequence[Record]
    revision: int
    """The revision of the snapshot."""
    remaining: int
    """The number of records after this page."""


class StoreError(Exception):
    """The store refused a request. The server maps each type to an API error."""


class RevisionMismatchError(StoreError):
    """The key does not have the expected revision. `current` is its record, or None if there is none."""

    def __init__(self, key: Key, expect: int, current: Record | None) -> None:
        super().__init__(f"{key}: expected revision {expect}, found {current.revision if current else 'nothing'}")
        self.key = key
        self.current = current


class CompactedError(StoreError):
    """The requested revision was compacted; history starts at `oldest`."""

    def __init__(self, requested: int, oldest: int) -> None:
        super().__init__(f"revision {requested} is compacted; the oldest kept is {oldest}")
        self.oldest = oldest


class FutureRevisionError(StoreError):
    """The store did not reach the revision in time."""

    def __init__(self, requested: int, current: int) -> None:
        super().__init__(f"revision {requested} is not reached; the newest is {current}")
        self.requested, self.current = requested, current


class UnwritableError(StoreError):
    """The database refused the commit (disk full, locked, unreachable). No change of the batch was stored."""


class UncertainError(UnwritableError):
    """The connection was lost during the commit, so it is unknown whether the change was, or will be, stored."""


class UnreachableError(StoreError):
    """The database does not respond, so the state in memory may be stale. It may respond again soon."""


class LostError(StoreError):
    """This replica missed changes that were compacted meanwhile. The store has to be opened again."""


class Subscription(Protocol):
    @property
    def is_behind(self) -> bool:
        """Whether changes up to the revision of the store wait for this reader."""

    def close(self) -> None: ...


Deliver = Callable[[Event], None]


class Reader(Protocol):
    """A subscriber that may wait. There may be thousands of them."""

    def flush(self) -> None:
        """Called after the changes of each commit, for readers that send them together."""

    def close(self) -> None:
        """Too much waits. Nothing more is delivered."""


class Store(Protocol):
    """Promises: see the module. Reads come from memory and never wait. Call `sync` or `reach` first for fresh ones."""

    @property
    def is_shared(self) -> bool:
        """Whether other processes write to the same log, so that the state in memory may be stale until `sync`."""

    @property
    def is_restored(self) -> bool:
        """Whether a backup was restored into this store, until `forget_restore`."""

    async def forget_restore(self) -> None:
        """Remove the mark of a restore."""

    @property
    def revision(self) -> int:
        """The newest revision that reads show."""

    @property
    def oldest(self) -> int:
        """The oldest revision at which a watch or a snapshot may start."""

    async def sync(self) -> int:
        """Catch up with every write acknowledged before this call, on any replica.

        `UnreachableError` while the database does not respond; `LostError` if this replica cannot follow any more.
        """

    async def reach(self, revision: int, *, timeout_s: float) -> None:
        """Wait until reads show `revision`; `FutureRevisionError` after the timeout."""

    def get(self, key: Key) -> Record | None: ...

    def select(self, scope: Scope) -> Sequence[Record]:
        """A snapshot of the scope's current records, ordered by namespace and name."""

    def count(self, scope: Scope) -> int: ...

    def resources(self) -> Sequence[str]:
        """The resources that have records."""

    async def page(self, scope: Scope, *, at: int, after: tuple[str, str] | None = None, limit: int = 0) -> Page:
        """The scope at revision `at`, starting after (namespace, name) `after`; `CompactedError`."""

    async def write(self, change: Change) -> Record:
        """Commit a change and return its record; for a `Delete`, the last state.

        `RevisionMismatchError` is raised only when `get` shows the newer record, so that a retry makes progress.
        """

    async def subscribe(
        self, scope: Scope, *, since: int, deliver: Deliver, reader: Reader | None = None
    ) -> Subscription:
        """Call `deliver` for each change of the scope after `since`, in order, until closed.

        Changes already in the log are delivered before this returns; later ones in the event loop, at their commit, and
        to a `reader` some turns of the loop later if very many of them have to look at very many changes. Nothing may
        block or raise.
        `CompactedError`, `FutureRevisionError` if `since` is ahead of the store.
        """

    async def compact(self, before: int) -> None:
        """Drop history older than `before`, in small batches. Current records stay."""

    async def close(self) -> None: ...
