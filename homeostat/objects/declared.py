"""A declared object as its operator reads it: metadata, a typed spec, and the status as encoded JSON.

    class Greeting(Declared, frozen=True):
        spec: GreetingSpec

The bytes of a server are decoded into it directly. The status stays encoded until it is read: the runtime computes each
status patch from it and has to keep the fields of others, which no struct of ours declares. Pure.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.objects.kind import Kind

S = TypeVar("S", bound=msgspec.Struct)

NOTHING = msgspec.Raw(b"")


class OwnerReference(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class Metadata(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()


class Declared(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    metadata: Metadata
    status: msgspec.Raw = NOTHING

    @property
    def is_terminating(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    def read_status(self, shape: type[S]) -> S:
        """The status decoded into a struct whose fields all have defaults. Raises `ValidationError` if a field has
        another type.
        """
        return msgspec.json.decode(self.status or b"{}", type=shape)


def readable_status(obj: Declared, shape: type[S]) -> S:
    """The status, or the defaults of the struct: on a cluster, another program may write a status of another form."""
    try:
        return obj.read_status(shape)
    except msgspec.ValidationError:
        return shape()


class Identified(Protocol):
    """Metadata, however much of it is decoded."""

    @property
    def name(self) -> str: ...
    @property
    def uid(self) -> str: ...


def owner_reference(kind: Kind, owner: Identified) -> JsonObject:
    """The owner reference for objects that an operator creates for `owner`; they are garbage collected with it."""
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
