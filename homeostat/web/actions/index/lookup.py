"""Reads a resource from the server by number or by name.

The index knows where a resource is. A resource that another server created a moment ago may be missing in the index,
and is searched for. A resource is read and written at the version of its type that it was declared with.
"""

from __future__ import annotations

import msgspec

from homeostat.client.base import Client
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject, decode_stored
from homeostat.operators.actions.api import ID
from homeostat.web.actions.face import Face, check_right
from homeostat.web.actions.index.changes import IndexedResource
from homeostat.web.actions.index.entry import Entry, TypeEntry
from homeostat.web.actions.type_facts import kind_of
from homeostat.web.kit.gate import Caller, Operation
from homeostat.web.kit.refusal import RefusalError, unknown

_entry = msgspec.json.Decoder(Entry)


class _List(msgspec.Struct, frozen=True):
    items: list[Entry]


_list = msgspec.json.Decoder(_List)


class Found(msgspec.Struct, frozen=True):
    """A resource as the server stores it: `whole` is the encoded object."""

    indexed: IndexedResource
    type: TypeEntry
    whole: bytes

    @property
    def entry(self) -> Entry:
        return self.indexed.entry

    @property
    def version(self) -> str:
        return self.entry.metadata.resource_version

    def read(self) -> JsonObject:
        return decode_stored(self.whole)


def found_in(resource_type: TypeEntry, whole: bytes) -> Found:
    return Found(IndexedResource(kind_of(resource_type), _entry.decode(whole)), resource_type, whole)


async def find_numbered(face: Face, caller: Caller, number: int, operation: Operation) -> Found:
    """Raises `RefusalError`: 404, or 403 if the caller is not allowed to do this."""
    indexed = face.index.find(number) or await _search(face, number)
    found = await fetch(face, indexed) if indexed is not None else None
    if found is None or found.entry.number != number:
        raise no_resource()
    await check_right(caller, found.type.spec.name, found.type.spec.version, operation)
    return found


async def find_named(face: Face, name: str, resource_type: TypeEntry) -> Found | None:
    """Raises `RefusalError` 409 if a resource of another version of the type has the name."""
    if not face.index.is_followed(resource_type):
        return None
    whole = await _get(face.client, kind_of(resource_type).path(face.namespace, name))
    if whole is None:
        return None
    found = found_in(resource_type, whole)
    actual = face.index.type_of(found.indexed)
    if actual is None or actual.metadata.uid != resource_type.metadata.uid:
        version = actual.spec.version if actual is not None else "?"
        message = f'a resource named "{name}" already exists, of type {resource_type.spec.name}/{version}'
        raise RefusalError(409, message)
    return found


async def fetch(face: Face, indexed: IndexedResource) -> Found | None:
    """Reads the current resource; None if it or its type is gone."""
    resource_type = face.index.type_of(indexed)
    if resource_type is None:
        return None
    metadata = indexed.entry.metadata
    whole = await _get(face.client, kind_of(resource_type).path(metadata.namespace, metadata.name))
    return found_in(resource_type, whole) if whole is not None else None


def no_resource() -> RefusalError:
    return unknown("Resource not found")


async def _get(client: Client, path: str) -> bytes | None:
    try:
        return await client.fetch("GET", path)
    except NotFoundError:
        return None


async def _search(face: Face, number: int) -> IndexedResource | None:
    for kind in face.index.kinds():
        query = {"labelSelector": f"{ID}={number}"}
        items = _list.decode(await face.client.fetch("GET", kind.path(face.namespace), query)).items
        if items:
            return IndexedResource(kind, min(items, key=lambda each: each.age))
    return None
