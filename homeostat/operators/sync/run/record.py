"""What a sync remembers until the next one: which objects are ours, and how their last sync ended. Pure.

It is bytes at rest: JSON, compressed, with limits on both sizes. The fields that resources declare are kept once for
all resources that declare the same, so 10,000 resources of one collection are some 100 kB.

A creation is noted before it is sent. If a run ends half way, the next one knows which objects it may have created.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypeVar

import msgspec

from homeostat.operators.sync.engine.errors import ValidationError

VERSION: Final = 1
MOST_OBJECTS: Final = 200_000
LARGEST: Final = 64 << 20
"""Bytes of a record, unpacked."""
_LARGE: Final = 4 << 20
HISTORY: Final = 200
"""Events that a record keeps unless a policy says otherwise."""
Origin = Literal["created", "adopted"]

T = TypeVar("T")


class Owned(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One object that a sync has applied."""

    id: str = ""
    origin: Origin | None = None
    """Why it is ours; None if it is not: then it is never deleted."""
    shape: tuple[str, ...] = ()
    """The fields that were declared."""
    content: str = ""
    """A digest of what was declared, without its identity and without secrets."""
    at: str = ""
    """Its path on the server, if that is another than the collection's path and the id."""

    @property
    def is_ours(self) -> bool:
        return self.origin is not None


class Event(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One change that a sync made or failed to make."""

    time: str
    path: str
    action: str
    revision: str = ""
    fields: tuple[str, ...] = ()
    """The pointers that differed."""
    message: str = ""
    changed_by: str = ""
    """Who changed it last, if the server reports it."""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    objects: Mapping[str, Owned] = {}
    """By logical path."""
    creating: frozenset[str] = frozenset()
    """Paths whose creation was begun by a run that has not ended so far."""
    not_before: Mapping[str, float] = {}
    """When the server may be asked again, in seconds since 1970: by path, and for all by the empty path."""
    history: tuple[Event, ...] = ()
    """The newest last."""

    @property
    def owned(self) -> dict[str, Owned]:
        return {path: each for path, each in self.objects.items() if each.is_ours}

    def events(self, path: str) -> list[Event]:
        return [each for each in self.history if each.path == path]

    def updated(
        self,
        *,
        objects: Mapping[str, Owned | None] | None = None,
        creating: Iterable[str] | None = None,
        not_before: Mapping[str, float | None] | None = None,
        events: Iterable[Event] = (),
        keep: int = HISTORY,
    ) -> Record:
        """With these entries; None removes one."""
        history = (*self.history, *events)
        return Record(
            objects=_merged(self.objects, objects or {}),
            creating=self.creating if creating is None else frozenset(creating),
            not_before=_merged(self.not_before, not_before or {}),
            history=history[-keep:] if keep else (),
        )

    def carried_over(self, base: Record, current: Record) -> Record:
        """`current` with what changed from `base` to this record: another run may have saved `current` meanwhile."""
        events = [each for each in self.history if each not in base.history]
        return Record(
            objects=_merged(current.objects, _changed(base.objects, self.objects)),
            creating=(current.creating - (base.creating - self.creating)) | (self.creating - base.creating),
            not_before=_merged(current.not_before, _changed(base.not_before, self.not_before)),
            history=(*current.history, *events)[-max(len(self.history), HISTORY) :],
        )


def _changed(before: Mapping[str, T], after: Mapping[str, T]) -> dict[str, T | None]:
    return {key: after.get(key) for key in {*before, *after} if before.get(key) != after.get(key)}


def _merged(before: Mapping[str, T], over: Mapping[str, T | None]) -> dict[str, T]:
    return {key: each for key, each in {**before, **over}.items() if each is not None}


class _Wire(msgspec.Struct, omit_defaults=True):
    version: int
    shapes: list[tuple[str, ...]] = []
    objects: dict[str, tuple[str, str, int, str, str]] = {}
    creating: list[str] = []
    not_before: dict[str, float] = {}
    history: list[Event] = []


_ORIGINS: Final[dict[Origin | None, str]] = {"created": "c", "adopted": "a", None: ""}


def encode_record(record: Record) -> bytes:
    if len(record.objects) > MOST_OBJECTS:
        raise ValidationError(f"the record has {len(record.objects)} objects; at most {MOST_OBJECTS} are kept")
    shapes = dict[tuple[str, ...], int]()
    objects = {
        path: (each.id, _ORIGINS[each.origin], shapes.setdefault(each.shape, len(shapes)), each.content, each.at)
        for path, each in sorted(record.objects.items())
    }
    wire = _Wire(VERSION, list(shapes), objects, sorted(record.creating), dict(record.not_before), list(record.history))
    text = msgspec.json.encode(wire)
    # Half of a large record are digests: more effort takes three times as long and saves a tenth.
    return zlib.compress(text, 1 if len(text) > _LARGE else 6)


def decode_record(data: bytes) -> Record:
    """`ValidationError` for anything that `encode_record` has not made."""
    try:
        unpacker = zlib.decompressobj()
        text = unpacker.decompress(data, LARGEST)
        if not unpacker.eof and not unpacker.unconsumed_tail:
            raise zlib.error("it is incomplete")
        if unpacker.unconsumed_tail:
            raise ValidationError(f"the record of the sync is larger than {LARGEST} bytes")
        wire = msgspec.json.decode(text, type=_Wire)
        if wire.version != VERSION:
            raise ValidationError(f"the record of the sync has version {wire.version}; expected {VERSION}")
        origins = {letter: origin for origin, letter in _ORIGINS.items()}
        objects = {
            path: Owned(identity, origins[letter], wire.shapes[shape], content, at)
            for path, (identity, letter, shape, content, at) in wire.objects.items()
        }
    except (zlib.error, msgspec.MsgspecError, KeyError, IndexError, RecursionError, UnicodeDecodeError) as error:
        raise ValidationError(
            "the record of the sync is unreadable; restore it, or delete it and adopt the objects again"
        ) from error
    return Record(
        objects=objects,
        creating=frozenset(wire.creating),
        not_before=wire.not_before,
        history=tuple(wire.history),
    )
