"""The encoding of stored objects.

A stored object begins with a head that is the same for all objects of its kind, then its revision, then the rest:

    {"apiVersion":"apps/v1","kind":"Deployment","metadata":{"resourceVersion":"  41  ","name":...},"spec":...}

So the commit inserts the revision without encoding again, another version of the kind only differs in the head, and the
metadata are a slice. A list decodes nothing, and an item of a built-in kind begins after the names of its type.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from homeostat.edge.items import Items
from homeostat.objects.json import JsonObject, decode_stored, encode
from homeostat.objects.json.pieces import PIECE_BYTES
from homeostat.server.kinds.registry import Kind
from homeostat.server.request.too_long import is_offloaded
from homeostat.store.base import Draft, Record

_MARK = b'"metadata":{"resourceVersion":"'
_METADATA = b'"metadata":'
_METADATA_BEGIN = len(b'{"metadata":{')
LIST_TAIL = b"]}"
_OF_TYPE = frozenset({"apiVersion", "kind"})


def draft_of(kind: Kind, obj: JsonObject) -> Draft:
    """The bytes of an object for the store; the commit inserts its `resourceVersion`."""
    if kind.to_storage is not None:
        obj = kind.to_storage(obj)
    if kind.default_stored is not None:
        kind.default_stored(obj)
    metadata = obj["metadata"].copy()
    metadata.pop("resourceVersion", None)
    stored = {"metadata": metadata} | obj
    stored["metadata"] = metadata
    stored.pop("apiVersion", None)
    stored.pop("kind", None)
    return Draft(kind.stored_head, b'",%b' % encode(stored)[_METADATA_BEGIN:])


def stored_draft(kind: Kind, record: Record) -> Draft | None:
    """The draft of an object that is not changed, without encoding it; None if it would be stored otherwise now."""
    head, value = kind.stored_head, record.value
    if not kind.is_verbatim or not value.startswith(head):
        return None
    return Draft(head, value[value.index(b'"', len(head)) :])


def bytes_of(kind: Kind, obj: JsonObject) -> bytes:
    """An object that was converted to this kind's version, as it would be stored."""
    return Draft(kind.head, draft_of(kind, obj).tail).at(int(obj["metadata"]["resourceVersion"]))


def object_bytes(kind: Kind, record: Record) -> bytes:
    """The bytes of a stored object at this kind's version."""
    value = record.value
    if kind.from_storage is not None or record.revision < kind.defaults_before:
        return encode(object_of(kind, record))
    if value.startswith(kind.head):
        return value
    assert kind.conversion is None, f"{record.key} was not converted to {kind.api_version}"
    start = value.index(_MARK) + len(_MARK)
    return kind.head + value[start:]


def object_of(kind: Kind, record: Record) -> JsonObject:
    """A stored object, decoded again."""
    value = record.value
    obj = decode_stored(value, in_pieces=len(value) > PIECE_BYTES and is_offloaded())
    if kind.from_storage is not None:
        obj = kind.from_storage(obj)
    obj["apiVersion"] = kind.api_version
    if record.revision < kind.defaults_before and kind.default_stored and not kind.default_stored(obj):
        obj = decode_stored(record.value, in_pieces=is_offloaded())
        obj["apiVersion"] = kind.api_version
    return obj


class _Envelope(msgspec.Struct, gc=False):
    metadata: msgspec.Raw


_envelopes = msgspec.json.Decoder(_Envelope)
_PARTIAL = {
    version: b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/%s","metadata":' % version.encode()
    for version in ("v1", "v1beta1")
}


def metadata_bytes(record: Record) -> bytes:
    note, value = record.note, record.value
    if note is None:
        # A watch of all objects must not create a note for each of them.
        return bytes(_envelopes.decode(value).metadata)
    start = value.index(_METADATA) + len(_METADATA)
    if not note.metadata_end:
        note.metadata_end = start + len(bytes(_envelopes.decode(value).metadata))
    return value[start : note.metadata_end]


def metadata_start(kind: Kind) -> int:
    """Where the metadata begin in a value with the stored head of the kind."""
    return kind.stored_head.index(_METADATA) + len(_METADATA)


def partial_bytes(record: Record, version: str) -> bytes:
    return b"%s%s}" % (_PARTIAL[version], metadata_bytes(record))


class _Labels(msgspec.Struct, gc=False):
    labels: dict[str, str] | None = None


class _Labelled(msgspec.Struct, gc=False):
    metadata: _Labels


_labelled = msgspec.json.Decoder(_Labelled)
_NO_LABELS: dict[str, str] = {}


class Note(msgspec.Struct, gc=False):
    """Values read from a record, cached in `Record.note`."""

    labels: dict[str, str]
    metadata_end: int = 0
    """Where the metadata end in the record's value; 0 until needed."""
    columns: object = None
    """Those of `row`, which is set before."""
    row: object = None
    """A prepared row of a table."""
    fields: tuple[Kind, dict[str, str]] | None = None
    """The kind whose selectable fields were read, and their values."""


def note_of(record: Record) -> Note:
    note: Note | None = record.note
    if note is None:
        labels = _labelled.decode(record.value).metadata.labels
        note = record.note = Note(labels or _NO_LABELS)
    return note


def noted(record: Record, obj: JsonObject) -> Note:
    """The note of a record whose object is decoded already."""
    note: Note | None = record.note
    if note is None:
        note = record.note = Note(obj["metadata"].get("labels") or _NO_LABELS)
    return note


def list_metadata(revision: int, continue_token: str = "", remaining: int = 0) -> JsonObject:
    """The metadata of a list or of a page; `remainingItemCount` only if more follows."""
    metadata: JsonObject = {"resourceVersion": str(revision)}
    if continue_token:
        metadata["continue"] = continue_token
        if remaining:
            metadata["remainingItemCount"] = remaining
    return metadata


def list_head(kind: str, api_version: str, metadata: JsonObject) -> bytes:
    return b'{"kind":%s,"apiVersion":%s,"metadata":%s,"items":[' % (encode(kind), encode(api_version), encode(metadata))


def stored_items(head: bytes, kind: Kind, records: Sequence[Record], tail: bytes) -> Items:
    """A list of stored objects, which are not copied. Built-in ones lack apiVersion and kind, as in Kubernetes."""
    values: Sequence[bytes] = [record.value for record in records]
    # All begin with the head if the first and the last in the order of bytes do.
    if values and not (min(values).startswith(kind.head) and max(values).startswith(kind.head)):
        values = [object_bytes(kind, record) for record in records]
    if kind.custom or not values:
        return Items(head, values, tail)
    return Items(head + b"{", values, tail, separator=b",{", cut=kind.head.index(_METADATA))


def item_bytes(kind: Kind, record: Record) -> bytes:
    """An object as an item of a list."""
    if kind.custom:
        return object_bytes(kind, record)
    if kind.is_verbatim:
        return b"{%b" % object_bytes(kind, record)[kind.head.index(_METADATA) :]
    obj = object_of(kind, record)
    return encode({name: member for name, member in obj.items() if name not in _OF_TYPE})


class _Uid(msgspec.Struct, gc=False):
    uid: str = ""


class _Identified(msgspec.Struct, gc=False):
    metadata: _Uid


_identified = msgspec.json.Decoder(_Identified)


def uid_of(record: Record) -> str:
    return _identified.decode(record.value).metadata.uid
