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
    """What a reader has worked out of `value` and wants to keep with it; not stored."""


class Put(NamedTuple):
    """Create (`expect` 0) or replace (`expect` the current revision)."""

    key: Key
    draft: Draft
    expect: int
    note: Any = None
    tag: str = ""
    """What the writer tells subscribers of the change; not stored, so those who read the log later are told nothing."""


class Delete(NamedTuple):
    """Remove; `draft` is the last state, which watchers see at the deletion's revision."""

    key: Key
    draft: Draft
    expect: int


Change = Put | Delete


class Event(msgspec.Struct, gc=False):
    """One change, as watchers see it. `previous` is None for a creation."""

    type: Literal["ADDED", "MODIFIED", "DELETED"]
    record: Record
    previous: Record | None
    frames: dict[Any, bytes] | None = None
    """Encodings of this event that readers share; not stored."""
    tag: str = ""
    """As its `Put` had it."""


class Page(NamedTuple):
    records: Sequence[Record]
    revision: int
    """The snapshot that the page is of."""
    remaining: int
    """How many records of the snapshot follow."""


class StoreError(Exception):
    """What a store refuses; the server turns each into its API error."""


class RevisionMismatchError(StoreError):
    """The key's revision is not the expected one; `current` is what is there (None: nothing)."""

    def __init__(self, key: Key, expect: int, current: Record | None) -> None:
        super().__init__(f"{key}: expected revision {expect}, found {current.revision if current else 'nothing'}")
        self.current = current


class CompactedError(StoreError):
    """History before `oldest` is gone."""

    def __init__(self, asked: int, oldest: int) -> None:
        super().__init__(f"revision {asked} is compacted; the oldest kept is {oldest}")
        self.oldest = oldest


class FutureRevisionError(StoreError):
    """A revision that was not reached in time."""

    def __init__(self, asked: int, current: int) -> None:
        super().__init__(f"revision {asked} is not reached; the newest is {current}")
        self.asked, self.current = asked, current


class UnwritableError(StoreError):
    """The database refused the commit (full, locked, gone); nothing of the batch was stored."""


class UncertainError(UnwritableError):
    """The database was lost during the commit and cannot be asked: the change may be stored, now or a moment later."""


class UnreachableError(StoreError):
    """The database does not answer, so what is in memory cannot be called fresh. It may answer again soon."""


class LostError(StoreError):
    """The log went on without this replica and what it missed is gone: only opening the store again helps."""


class Subscription(Protocol):
    def close(self) -> None: ...


Deliver = Callable[[Event], None]
Flush = Callable[[], None]


class Store(Protocol):
    """See the module's promises. Reads are of memory and never wait; to be fresh, call `sync` or `reach` first."""

    @property
    def is_shared(self) -> bool:
        """Others write to the same log: what is in memory may be behind until `sync`."""

    @property
    def revision(self) -> int:
        """The newest revision that reads here show."""

    @property
    def oldest(self) -> int:
        """Watches and snapshots may start here or later."""

    async def sync(self) -> int:
        """Catch up with every write acknowledged before this call, on any replica.

        `UnreachableError` while the database cannot be asked; `LostError` once this replica cannot follow any more.
        """

    async def reach(self, revision: int, *, timeout_s: float) -> None:
        """Wait until reads show `revision`; `FutureRevisionError` after the time."""

    def get(self, key: Key) -> Record | None: ...

    def select(self, scope: Scope) -> Sequence[Record]:
        """The current records of a scope, ordered by namespace and name. Later writes do not show in it."""

    def count(self, scope: Scope) -> int: ...

    def resources(self) -> Sequence[str]:
        """Names of the resources that have records now."""

    async def page(self, scope: Scope, *, at: int, after: tuple[str, str] | None = None, limit: int = 0) -> Page:
        """The scope as it was at revision `at`, beginning behind (namespace, name) `after`; `CompactedError`."""

    async def write(self, change: Change) -> Record:
        """Commit a change and return the record it made (for a `Delete`: its last state).

        `RevisionMismatchError` only once the record it lost to is visible to `get`, so a retry makes progress.
        """

    async def subscribe(
        self, scope: Scope, *, since: int, deliver: Deliver, flush: Flush | None = None
    ) -> Subscription:
        """Call `deliver` for each change of the scope after `since`, in order, until closed.

        Changes already in the log are delivered before this returns; later ones in the event loop at commit. `flush` is
        called after those of one commit, for readers that pass them on together. Neither may block or raise.
        `CompactedError`, `FutureRevisionError` if `since` is ahead of the store.
        """

    async def compact(self, before: int) -> None:
        """Forget history older than `before`, in small batches; current records stay."""

    async def close(self) -> None: ...
