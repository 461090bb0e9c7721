"""What housekeeping sees of an object: the few fields of its metadata that deletion depends on. Pure.

Objects are asked for as `PartialObjectMetadata` and decoded into these structs; labels, annotations, managed fields,
spec and status are skipped by the decoder and never become Python values.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from homeostat.objects.declared import OwnerReference

Policy = Literal["Background", "Foreground", "Orphan"]
"""What becomes of the dependents of an object that is deleted."""


class Metadata(msgspec.Struct, rename="camel", frozen=True, gc=False):
    name: str
    uid: str
    resource_version: str
    namespace: str = ""
    deletion_timestamp: str | None = None
    finalizers: tuple[str, ...] | None = None
    owner_references: tuple[OwnerReference, ...] | None = None


class Partial(msgspec.Struct, frozen=True, gc=False):
    metadata: Metadata
