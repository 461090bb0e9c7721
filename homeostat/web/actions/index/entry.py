"""A resource in memory: fields for lists and filters are decoded, the rest stays encoded. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from homeostat.objects.declared import Metadata
from homeostat.operators.actions.api import (
    CANCEL,
    GROUP,
    ID,
    METADATA,
    REQUESTED,
    TYPE_VERSION,
    ActionReference,
    ResourceStatus,
    ResourceType,
)
from homeostat.runtime.control.failure_conditions import PAUSE
from homeostat.web.kit.records.ids import number_in

VERSION: Final = TYPE_VERSION
TYPE_STATUS: Final = f"{GROUP}/type-status"
"""An annotation of a type: a status that is neither active nor deprecated, as users set it."""

NOTHING: Final = msgspec.Raw(b"")


class Labels(msgspec.Struct, frozen=True, rename={"number": ID, "version": VERSION}, gc=False):
    number: str = ""
    version: str = ""


_ANNOTATIONS: Final = {"requested": REQUESTED, "metadata": METADATA, "cancel": CANCEL, "paused": PAUSE}


class Annotations(msgspec.Struct, frozen=True, rename=_ANNOTATIONS, gc=False):
    requested: str = ""
    cancel: str = ""
    metadata: str = ""
    paused: str = "false"


class Stamp(msgspec.Struct, frozen=True, gc=False):
    """The time of the last write by one field manager."""

    time: str = ""


class StampedMetadata(Metadata, frozen=True, rename="camel", omit_defaults=True):
    managed_fields: tuple[Stamp, ...] = ()


class TypeEntry(ResourceType, frozen=True):
    """A resource type and the times of its writes."""

    metadata: StampedMetadata

    @property
    def number(self) -> int:
        return number_in(self.metadata.labels.get(ID, ""))

    @property
    def updated(self) -> str:
        return newest_of(self.metadata.managed_fields) or self.metadata.creation_timestamp or ""


class EntryMetadata(msgspec.Struct, frozen=True, rename="camel", gc=False):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str = ""
    deletion_timestamp: str = ""
    labels: Labels = Labels()
    annotations: Annotations = Annotations()
    finalizers: tuple[str, ...] = ()
    managed_fields: tuple[Stamp, ...] = ()


class Entry(msgspec.Struct, frozen=True, gc=False):
    metadata: EntryMetadata
    spec: msgspec.Raw = NOTHING
    action: msgspec.Raw = NOTHING
    status: msgspec.Raw = NOTHING

    @property
    def number(self) -> int:
        return number_in(self.metadata.labels.number)

    @property
    def is_paused(self) -> bool:
        return self.metadata.annotations.paused != "false"

    @property
    def age(self) -> tuple[str, str]:
        return self.metadata.creation_timestamp, self.metadata.uid

    @property
    def size(self) -> int:
        """About the number of bytes that showing it takes."""
        return len(self.spec) + len(self.action) + len(self.status) + len(self.metadata.annotations.metadata)

    @property
    def updated(self) -> str:
        return newest_of(self.metadata.managed_fields) or self.metadata.creation_timestamp

    @property
    def declaration(self) -> tuple[object, ...]:
        """The declared part of the resource, without its status."""
        metadata = self.metadata
        return (metadata.uid, self.spec, self.action, metadata.annotations.metadata, metadata.deletion_timestamp)

    def read_action(self) -> ActionReference:
        return _action.decode(self.action) if self.action else ActionReference()

    def read_status(self) -> ResourceStatus:
        return _status.decode(self.status) if self.status else ResourceStatus()

    def read_phase(self) -> PhaseOnly:
        return _phase.decode(self.status) if self.status else PhaseOnly()


class PhaseOnly(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The part of a status that lists are filtered by."""

    phase: str = "pending"
    observed_generation: int = 0
    handled_request: str = ""


_action = msgspec.json.Decoder(ActionReference)
_status = msgspec.json.Decoder(ResourceStatus)
_phase = msgspec.json.Decoder(PhaseOnly)


def newest_of(stamps: tuple[Stamp, ...]) -> str:
    return max((each.time for each in stamps), default="")


def phase_of(entry: Entry, seen: PhaseOnly | ResourceStatus) -> str:
    """Returns `pending` as soon as a change or a reconciliation is requested, before the operator observes it."""
    metadata = entry.metadata
    if metadata.deletion_timestamp:
        return "deleting"
    is_new = metadata.generation > seen.observed_generation
    requested = metadata.annotations.requested
    is_asked_for = bool(requested) and requested != seen.handled_request
    return "pending" if seen.phase in ("ready", "failed") and (is_new or is_asked_for) else seen.phase
