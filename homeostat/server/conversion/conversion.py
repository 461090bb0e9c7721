"""How the versions of one custom kind are converted into each other: the webhook, and the schema of each version.

Without a webhook, versions differ in what their schemas know, and a conversion leaves out the rest. Everything that a
schema demands of a converted object happens here: an object is read with the defaults of the version that it was stored
at, and loses the fields that the other version does not know, as in Kubernetes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from homeostat.objects.json import JsonObject, decode_stored, encode
from homeostat.objects.schema.schema import Schema
from homeostat.objects.schema.whole_number import make_whole
from homeostat.server.admission.webhooks.client import Endpoint
from homeostat.server.request.too_long import TooLongError, is_offloaded
from homeostat.store.base import Record


class VersionBehaviour(Protocol):
    """What a conversion needs of a version's schema."""

    @property
    def schema(self) -> Schema: ...
    def prune(self, obj: JsonObject) -> list[str]: ...
    def default_stored(self, obj: JsonObject) -> bool: ...


class Conversion(msgspec.Struct, frozen=True, eq=False):
    endpoint: Endpoint | None
    """The webhook; None for the strategy `None`."""
    review_version: str
    kind: str
    stored: str
    """The apiVersion at which objects are stored from now on; older ones may have another."""
    behaviours: Mapping[str, VersionBehaviour]
    """Of every version of the definition, also of those that are not served, by apiVersion."""
    defaults_before: int = 0
    """Objects of an older revision may lack defaults of their version."""

    def is_verbatim(self, record: Record, head: bytes) -> bool:
        """Whether the stored bytes, which begin with `head` at the wanted version, are what a reader sees."""
        return record.value.startswith(head) and record.revision >= self.defaults_before

    def source(self, record: Record) -> JsonObject:
        """A stored object, at the version that it was stored at, with that version's defaults."""
        obj = decode_stored(record.value, in_pieces=is_offloaded())
        behaviour = self.behaviours.get(obj["apiVersion"])
        if behaviour is None or behaviour.default_stored(obj):
            return obj
        if not is_offloaded():
            raise TooLongError
        return decode_stored(record.value, in_pieces=True)

    def complete(self, obj: JsonObject) -> JsonObject:
        """A converted object as it is stored: with the defaults of its version, unless they are too many."""
        filled = decode_stored(encode(obj), in_pieces=is_offloaded())
        return filled if self.behaviours[self.stored].default_stored(filled) else obj

    def rename(self, objects: Sequence[JsonObject], api_version: str) -> Sequence[JsonObject]:
        """The objects at another version, as the strategy `None` converts them; the originals are not changed."""
        copies = [
            decode_stored(encode({**obj, "apiVersion": api_version}), in_pieces=is_offloaded()) for obj in objects
        ]
        return self.accept(copies, api_version)

    def accept(self, objects: Sequence[JsonObject], api_version: str) -> Sequence[JsonObject]:
        """Converted objects without what their version does not know. In place."""
        behaviour = self.behaviours[api_version]
        for obj in objects:
            make_whole(obj)
            behaviour.prune(obj)
        return objects
