"""A declared object as its operator sees it: metadata, a typed spec, and a status that is kept as it came.

    class Greeting(Declared, frozen=True):
        spec: GreetingSpec

A server's bytes are decoded straight into it. The status stays encoded until somebody reads it: the runtime plans each
status write from it and must know what others keep there, in fields that no struct of ours names. Pure.
"""

from __future__ import annotations

from typing import TypeVar

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
        """What the status says, in the fields of the struct, which all have defaults; `ValidationError` where it does
        not fit.
        """
        return msgspec.json.decode(self.status or b"{}", type=shape)


def owner_reference(kind: Kind, owner: Metadata) -> JsonObject:
    """For the metadata of what an operator makes on behalf of the object: it goes when its owner goes."""
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
