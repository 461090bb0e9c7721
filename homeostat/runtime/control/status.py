"""The status of an object: read at the start of a reconciliation, computed as a whole, written at most once at its end.

Three promises, each with tests: nothing is sent if nothing changed, and a later time alone is no change; fields of
other writers stay as they are; a status that was computed from one version of an object is never written over another
version.

The resourceVersion ensures the last promise, and not the uid: a merge patch replaces the whole list of conditions, so
the list on the server must be the one that was read; and servers ignore the uid in a patch of a custom object's status.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

import msgspec

from homeostat.client.projection import Projection
from homeostat.client.requests import PLAIN, Writing
from homeostat.objects.conditions import ABNORMAL, PAUSED, Condition, set_condition
from homeostat.objects.decision import Receipt
from homeostat.objects.declared import Declared
from homeostat.objects.errors import ConflictError
from homeostat.objects.json import Json, JsonObject, decode_stored
from homeostat.objects.time.timestamp import format_time

_OURS = frozenset({"conditions", "observedGeneration"})
_PASSING = frozenset({*ABNORMAL, PAUSED})
_RECEIPT_ATTEMPTS = 10
_encode = msgspec.json.Encoder(order="deterministic").encode


class SnapshotMetadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    deletion_timestamp: str | None = None
    finalizers: tuple[str, ...] = ()


class Snapshot(msgspec.Struct, frozen=True):
    """One version of an object, with the fields that the runtime writes. A write returns the next one."""

    metadata: SnapshotMetadata
    status: JsonObject | None = None


def snapshot_of(obj: Declared) -> Snapshot:
    metadata = obj.metadata
    return Snapshot(
        SnapshotMetadata(
            metadata.name,
            metadata.namespace,
            metadata.uid,
            metadata.resource_version,
            metadata.generation,
            metadata.deletion_timestamp,
            metadata.finalizers,
        ),
        decode_stored(bytes(obj.status)) if obj.status else None,
    )


def plan_status(
    snapshot: Snapshot,
    conditions: Iterable[Condition],
    fields: Mapping[str, Json] | None = None,
    *,
    now: datetime,
    is_observed: bool = True,
    absent: Collection[str] = (),
) -> JsonObject | None:
    """The merge patch that sets these conditions and fields; None if nothing changes.

    Conditions of other types stay, except abnormal ones and those of `absent`, which are removed unless they are given:
    their absence is the good state. Without any conditions all stay, except that of a pause that has ended. `fields`
    are whole values by wire name; None removes a field. Without `is_observed` the status keeps its
    `observedGeneration`.
    """
    conditions, fields = tuple(conditions), fields or {}
    current = snapshot.status or {}
    is_resumed = not conditions and any(_type(each) == PAUSED for each in current.get("conditions") or ())
    if not conditions and not fields and not is_resumed:
        return None
    if taken := _OURS & fields.keys():
        raise ValueError(f"status fields {sorted(taken)} are the runtime's own; give conditions as conditions")
    wanted = dict(fields)
    if conditions or is_resumed:
        wanted["conditions"] = _conditions(current.get("conditions") or (), conditions, now, _PASSING.union(absent))
    if snapshot.metadata.generation and is_observed:
        wanted["observedGeneration"] = snapshot.metadata.generation
    return _patch(snapshot, wanted)


def plan_receipt(snapshot: Snapshot, receipt: Receipt) -> JsonObject | None:
    """The merge patch that adds the fields of a receipt; the generation is not observed yet."""
    if taken := _OURS & receipt.status.keys():
        raise ValueError(f"status fields {sorted(taken)} are the runtime's own; a receipt cannot set them")
    return _patch(snapshot, receipt.status)


async def write_status(
    objects: Projection[Snapshot],
    snapshot: Snapshot,
    patch: JsonObject | None,
    *,
    writing: Writing = PLAIN,
) -> Snapshot:
    """Sends the patch; `ConflictError` if the object has changed since it was read."""
    if patch is None:
        return snapshot
    name, namespace = snapshot.metadata.name, snapshot.metadata.namespace
    return await objects.patch(patch, name, namespace, subresource="status", writing=writing)


async def write_receipt(
    objects: Projection[Snapshot], snapshot: Snapshot, receipt: Receipt, *, writing: Writing = PLAIN
) -> Snapshot:
    """Writes a receipt even if the object has changed meanwhile, because its effect has happened.

    `ConflictError` only if another object has the name now, or if others write all the time.
    """
    for _ in range(_RECEIPT_ATTEMPTS - 1):
        try:
            return await write_status(objects, snapshot, plan_receipt(snapshot, receipt), writing=writing)
        except ConflictError:
            current = await objects.get(snapshot.metadata.name, snapshot.metadata.namespace)
            if current.metadata.uid != snapshot.metadata.uid:
                raise
            snapshot = current
    return await write_status(objects, snapshot, plan_receipt(snapshot, receipt), writing=writing)


def _conditions(
    current: Iterable[Json], new: tuple[Condition, ...], now: datetime, absent: frozenset[str]
) -> list[Json]:
    """The list as JSON, so that conditions of others keep fields that we do not know."""
    given = {each.type: each for each in new}
    left = dict(given)
    moment = format_time(now)
    result: list[Json] = []
    for item in current:
        type_ = _type(item)
        condition = left.pop(type_, None)
        if condition is not None:
            result.append(item if _is_shown(item, condition) else _updated(item, condition, now, moment))
        elif type_ not in given and type_ not in absent:
            result.append(item)
    return [*result, *(_dated(each, moment) for each in left.values())]


def _is_shown(item: JsonObject, new: Condition) -> bool:
    """Whether the condition is the new one already. The usual case, found without decoding."""
    generation = item.get("observedGeneration", msgspec.UNSET)
    return (
        item.get("status") == new.status
        and item.get("reason") == new.reason
        and item.get("message") == new.message
        and generation == new.observed_generation
        and generation is not True
        and bool(item.get("lastTransitionTime"))
    )


def _updated(item: Json, new: Condition, now: datetime, moment: str) -> Json:
    before = _read(item)
    if before is None:
        return _dated(new, moment)
    (after,) = set_condition((before,), new, now=now)
    return item if after == before else msgspec.to_builtins(after)


def _dated(new: Condition, moment: str) -> JsonObject:
    made: JsonObject = msgspec.to_builtins(new)
    made["lastTransitionTime"] = new.last_transition_time or moment
    return made


def _type(condition: Json) -> Json:
    return condition.get("type") if isinstance(condition, dict) else None


def _read(condition: Json) -> Condition | None:
    try:
        return msgspec.convert(condition, Condition)
    except msgspec.ValidationError:
        return None


def _patch(snapshot: Snapshot, wanted: Mapping[str, Json]) -> JsonObject | None:
    current = snapshot.status or {}
    if current and _encode({name: current[name] for name in wanted if name in current}) == _encode(_given(wanted)):
        return None
    difference = _difference(current, wanted)
    if not difference:
        return None
    patch: JsonObject = {"status": difference}
    if snapshot.metadata.resource_version:
        patch["metadata"] = {"resourceVersion": snapshot.metadata.resource_version}
    return patch


def _given(wanted: Mapping[str, Json]) -> JsonObject:
    return {name: value for name, value in wanted.items() if value is not None}


def _difference(current: Mapping[str, Json], wanted: Mapping[str, Json]) -> JsonObject:
    """The merge patch that sets the fields of `wanted`."""
    patch: JsonObject = {}
    for name, value in wanted.items():
        before = current.get(name)
        if value is None:
            if name in current:
                patch[name] = None
        elif before is None:
            patch[name] = _bare(value)
        elif isinstance(before, dict) and isinstance(value, Mapping):
            removed = dict.fromkeys(before.keys() - value.keys())
            if below := _difference(before, {**removed, **value}):
                patch[name] = below
        elif not _is_same(before, value):
            patch[name] = _bare(value)
    return patch


_NOT_MAPPING = (str, int, float, list)
"""Checked first, because the check for a mapping takes far longer."""


def _bare(value: Json) -> Json:
    """Omits fields that are None: in a new object there is nothing to remove."""
    if not isinstance(value, _NOT_MAPPING) and isinstance(value, Mapping):
        return {name: _bare(each) for name, each in value.items() if each is not None}
    return value


def _is_same(one: Json, other: Json) -> bool:
    """As JSON: true is not 1, but 1.0 is 1."""
    if one is other:
        return True
    if type(one) is type(other) is str:
        return one == other
    if isinstance(one, dict) and isinstance(other, dict):
        # A server drops null members from the objects of a list in a merge patch.
        one, other = _given(one), _given(other)
        return one.keys() == other.keys() and all(_is_same(value, other[name]) for name, value in one.items())
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_is_same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)
