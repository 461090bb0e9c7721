"""What housekeeping sees of an object: the few fields of its metadata that deletion depends on. Pure.

Objects are asked for as `PartialObjectMetadata` and decoded into these structs; labels, annotations, managed fields,
spec and status are skipped by the decoder and never become Python values.
"""

from __future__ import annotations

import msgspec

PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_INITIAL_END = "k8s.io/initial-events-end"


class OwnerReference(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True, gc=False):
    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class Metadata(msgspec.Struct, rename="camel", frozen=True, gc=False):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: str | None = None
    finalizers: tuple[str, ...] | None = None
    owner_references: tuple[OwnerReference, ...] | None = None


class Item(msgspec.Struct, frozen=True, gc=False):
    metadata: Metadata


class Change(msgspec.Struct, frozen=True, gc=False):
    """One event of a watch; `type` is ADDED, MODIFIED, DELETED, BOOKMARK or ERROR."""

    type: str
    object: Item


class _Mark(msgspec.Struct, frozen=True):
    annotations: dict[str, str] | None = None


class _Marked(msgspec.Struct, frozen=True):
    metadata: _Mark


class _Bookmark(msgspec.Struct, frozen=True):
    object: _Marked


class _ListMetadata(msgspec.Struct, frozen=True):
    continue_token: str = msgspec.field(default="", name="continue")


class _List(msgspec.Struct, frozen=True):
    metadata: _ListMetadata
    items: list[Item]


decode_change = msgspec.json.Decoder(Change).decode
_items = msgspec.json.Decoder(Item)
_bookmarks = msgspec.json.Decoder(_Bookmark)
_lists = msgspec.json.Decoder(_List)


def decode_metadata(obj: bytes) -> Metadata:
    return _items.decode(obj).metadata


def decode_list(page: bytes) -> tuple[list[Metadata], str]:
    """The objects of one page and the token of the next; empty after the last."""
    found = _lists.decode(page)
    return [item.metadata for item in found.items], found.metadata.continue_token


def ends_initial_events(bookmark: bytes) -> bool:
    """This bookmark tells that all objects there were have been sent."""
    annotations = _bookmarks.decode(bookmark).object.metadata.annotations
    return annotations is not None and annotations.get(_INITIAL_END) == "true"
