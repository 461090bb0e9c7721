"""Deletes Events after an hour, as kube-apiserver does."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import msgspec

from homeostat.edge.turn import Turn
from homeostat.server.kinds.registry import Kind
from homeostat.server.view.encode import draft_of, object_of
from homeostat.store.base import Delete, Record, RevisionMismatchError, Scope, Store

EVENT_LIFE_S = 3600.0
_AT_ONCE = 64
"""Deletions that run at the same time, so that they share commits."""


class _Metadata(msgspec.Struct, gc=False):
    creationTimestamp: str  # noqa: N815


class _Series(msgspec.Struct, gc=False):
    lastObservedTime: str | None = None  # noqa: N815


class _Dated(msgspec.Struct, gc=False):
    metadata: _Metadata
    lastTimestamp: str | None = None  # noqa: N815
    series: _Series | None = None

    def newest(self) -> str:
        """When the Event last occurred: a recurring Event stays."""
        observed = self.series.lastObservedTime if self.series else None
        return max(self.metadata.creationTimestamp, self.lastTimestamp or "", observed or "")


_dated = msgspec.json.Decoder(_Dated)


async def expire_events(store: Store, kind: Kind, *, now: datetime) -> int:
    """Delete all expired Events in batches. Returns how many were deleted."""
    limit = datetime.fromtimestamp(now.timestamp() - EVENT_LIFE_S, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    old, turn, gone = list[Record](), Turn(), 0
    for record in store.select(Scope(kind.resource)):
        if _dated.decode(record.value).newest() < limit:
            old.append(record)
        await turn.pause()
    for start in range(0, len(old), _AT_ONCE):
        gone += sum(await asyncio.gather(*(_expire(store, kind, record) for record in old[start : start + _AT_ONCE])))
    return gone


async def _expire(store: Store, kind: Kind, record: Record) -> bool:
    """False if another writer was faster."""
    try:
        await store.write(Delete(record.key, draft_of(kind, object_of(kind, record)), record.revision))
    except RevisionMismatchError:
        return False
    return True
