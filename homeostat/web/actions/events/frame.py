"""The event of a change to a resource, framed as a server-sent event.

    event: CREATED
    data: {"event_type": "CREATED", "resource_id": 1, ...}
    id: 1240

CREATED is sent when a resource has a number, and RECONCILED when a run has ended, with success or not. The timestamp is
the time of the write, so that every server sends the same event, at any time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from homeostat.edge.stream import frame
from homeostat.objects.json import JsonObject, encode
from homeostat.web.actions.bodies import resource_body, spec_hash
from homeostat.web.actions.index.changes import IndexedResource
from homeostat.web.actions.index.entry import Entry, TypeEntry

EventType = Literal["CREATED", "MODIFIED", "DELETED", "RECONCILED"]
RESYNC = "RESYNC"
KEEP_ALIVE = b": keep-alive\n\n"
LARGE_BYTES: Final = 16 * 1024
"""An event of a resource from this size on takes 2 ms and more to encode, most of it for the hash of its spec."""


class EventFrame:
    """One event. It is encoded once for administrators and once for all other callers."""

    __slots__ = ("_chunks", "_lines", "event_type", "indexed", "resource_type")

    def __init__(self, event_type: EventType, indexed: IndexedResource, resource_type: TypeEntry) -> None:
        self.event_type, self.indexed, self.resource_type = event_type, indexed, resource_type
        self._lines: dict[bool, bytes] = {}
        self._chunks: dict[bool, tuple[str, bytes]] = {}

    @property
    def number(self) -> int:
        return self.indexed.entry.number

    @property
    def type_key(self) -> tuple[str, str]:
        return self.resource_type.spec.name, self.resource_type.spec.version

    @property
    def size(self) -> int:
        return self.indexed.entry.size

    def is_encoded(self, *, is_admin: bool) -> bool:
        return is_admin in self._lines

    def lines(self, *, is_admin: bool, claims: Mapping[str, str]) -> bytes:
        """The lines of the event without its `id`."""
        if is_admin not in self._lines:
            body = self._body(is_admin=is_admin, claims=claims)
            self._lines[is_admin] = b"event: %b\ndata: %b\n" % (self.event_type.encode(), encode(body))
        return self._lines[is_admin]

    def chunk(self, position: str, *, is_admin: bool, claims: Mapping[str, str]) -> bytes:
        """The event with its `id`, if there is one, as a chunk. Followers that came as far get the same bytes."""
        known = self._chunks.get(is_admin)
        if known is not None and known[0] == position:
            return known[1]
        end = b"id: %b\n\n" % position.encode() if position else b"\n"
        chunk = frame(self.lines(is_admin=is_admin, claims=claims) + end)
        self._chunks[is_admin] = (position, chunk)
        return chunk

    def _body(self, *, is_admin: bool, claims: Mapping[str, str]) -> JsonObject:
        name, version = self.type_key
        entry = self.indexed.entry
        data = resource_body(self.indexed, self.resource_type, is_admin=is_admin, claimed=claims.get(name, ""))
        return {
            "event_type": self.event_type,
            "resource_id": entry.number,
            "resource_name": entry.metadata.name,
            "resource_type_name": name,
            "resource_type_version": version,
            "resource_data": {**data, "spec_hash": spec_hash(bytes(data["spec"]))},
            "timestamp": max(entry.updated, entry.metadata.deletion_timestamp),
        }


def resync_lines(timestamp: str) -> bytes:
    body: JsonObject = {
        "event_type": RESYNC,
        "resource_id": 0,
        "resource_name": "",
        "resource_type_name": "",
        "resource_type_version": "",
        "resource_data": None,
        "timestamp": timestamp,
    }
    return b"event: %b\ndata: %b\n" % (RESYNC.encode(), encode(body))


def events_of(old: Entry | None, new: Entry | None) -> list[tuple[EventType, Entry]]:
    """Returns the events of one change. There are none while a resource has no number."""
    message: list[tuple[EventType, Entry]] = []
    is_gone = new is None or (old is not None and not _is_same(old, new))
    if old is not None and old.number and is_gone:
        message.append(("DELETED", old))
    if new is not None and new.number:
        if old is None or not old.number or is_gone:
            message.append(("CREATED", new))
        else:
            message.append(("RECONCILED" if _runs(new) > _runs(old) else "MODIFIED", new))
    return message


def _is_same(old: Entry, new: Entry) -> bool:
    return old.metadata.uid == new.metadata.uid and new.number in (0, old.number)


class _Counted(msgspec.Struct, frozen=True, gc=False):
    reconciliations: int = 0


_counted = msgspec.json.Decoder(_Counted)


def _runs(entry: Entry) -> int:
    """The number of runs that have ended."""
    return _counted.decode(entry.status).reconciliations if entry.status else 0
