"""The projection of an object that housekeeping uses: the metadata that deletion depends on. Pure.

Objects are requested as `PartialObjectMetadata` and decoded into these structs. The decoder skips labels, annotations,
managed fields, spec and status.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from homeostat.objects.declared import OwnerReference

Policy = Literal["Background", "Foreground", "Orphan"]
"""The propagation policy of a deletion."""


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
