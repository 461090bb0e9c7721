"""Events live for an hour: a store of everything that ever happened is not what anybody asked for."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from homeostat.server.encode import draft_of, object_of
from homeostat.server.kinds import Kind
from homeostat.store.base import Delete, RevisionMismatchError, Scope, Store

EVENT_LIFE_S = 3600.0
_MOST_AT_ONCE = 500


class _Metadata(msgspec.Struct, gc=False):
    creationTimestamp: str  # noqa: N815


class _Dated(msgspec.Struct, gc=False):
    metadata: _Metadata


_dated = msgspec.json.Decoder(_Dated)


async def expire_events(store: Store, kind: Kind, *, now: datetime) -> int:
    """Delete Events older than their life, a bounded number a time; how many went."""
    limit = datetime.fromtimestamp(now.timestamp() - EVENT_LIFE_S, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    old = [
        record
        for record in store.select(Scope(kind.resource))
        if _dated.decode(record.value).metadata.creationTimestamp < limit
    ]
    gone = 0
    for record in old[:_MOST_AT_ONCE]:
        try:
            await store.write(Delete(record.key, draft_of(kind, object_of(kind, record)), record.revision))
        except RevisionMismatchError:
            continue
        gone += 1
    return gone
