"""Computes the `managedFields` of an object after a create, an update or a patch.

A manager gains the fields that its write changed or added; the others lose them, and all lose the removed fields. An
entry without fields is dropped; its time changes when its manager changes something. Entries of the stored object are
trusted. The managedFields of a request count only if they differ, are well formed and are not for a subresource. As in
Kubernetes, an object whose managedFields were cleared is not tracked again until it is applied.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from homeostat.objects.apply import field_set
from homeostat.objects.apply.field_diff import compare, created_fields
from homeostat.objects.apply.field_set import LEAF, FieldSet, difference, union, without
from homeostat.objects.apply.shape import shape_of
from homeostat.objects.apply.versions import Versions
from homeostat.objects.errors import BadRequestError
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.schema.schema import Schema

MAX_UPDATE_MANAGERS = 10
ANCIENT = "ancient-changes"

_UNTRACKED_METADATA = (
    "name",
    "namespace",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
)
UNTRACKED: FieldSet = {
    "f:apiVersion": LEAF,
    "f:kind": LEAF,
    "f:metadata": {".": LEAF, **{f"f:{name}": LEAF for name in _UNTRACKED_METADATA}},
}
"""Fields that no manager owns."""

Identity = tuple[str, str, str, str]


def update_managed(
    old: JsonObject | None,
    new: JsonObject,
    schema: Schema,
    *,
    manager: str,
    api_version: str,
    now: str,
    operation: str = "Update",
    subresource: str = "",
    ignore: FieldSet | None = None,
    known_versions: Container[str] | None = None,
    versions: Versions | None = None,
) -> list[JsonObject]:
    """The managedFields of `new`; an empty list means that the object has none.

    `old` is the stored object, None for a create. `ignore` names what a write to this (sub)resource cannot set
    (`{"f:status": {}}`), `known_versions` the apiVersions still served: entries of other versions are dropped.
    With `versions`, other managers lose what changed at their own version of the object.
    """
    entries = _starting_entries(old, new, subresource)
    if not entries and old is not None:
        return []
    shape = shape_of(schema)
    changed, removed = (created_fields(new, shape), LEAF) if old is None else compare(old, new, shape)
    if ignore:
        changed = without(changed, ignore)
        removed = without(removed, ignore) if removed else removed
    gained = difference(changed, UNTRACKED) if changed else changed
    kept = _current(entries, known_versions if versions is None else versions)
    if not gained and not removed:
        return kept
    changes = Changes(old, new, versions, ignore, {api_version: (changed, removed)})
    identity = (manager or "unknown", operation, api_version, subresource)
    mine, others = gained, []
    for entry in kept:
        if gained and entry.get("manager", "") == identity[0] and identity_of(entry) == identity:
            # It would get back what it loses to itself.
            mine = union(difference(entry["fieldsV1"], removed) if removed else entry["fieldsV1"], mine)
        elif (rest := lose(entry, *changes.at(entry["apiVersion"]))) is not None:
            others.append(rest)
    if gained:
        others.append(entry_of(identity, mine, now))
    return _capped(others)


class Changes:
    """What a write changed and removed, as each manager sees it at its own version."""

    def __init__(
        self,
        old: JsonObject | None,
        new: JsonObject,
        versions: Versions | None,
        ignore: FieldSet | None,
        known: dict[str, tuple[FieldSet, FieldSet]],
    ) -> None:
        """`known` has those at the version of the write."""
        self._old, self._new, self._versions, self._ignore = old, new, versions, ignore
        self._known = known
        self._written = next(iter(known.values()))

    def at(self, api_version: str) -> tuple[FieldSet, FieldSet]:
        if self._versions is None or self._old is None:
            return self._written
        found = self._known.get(api_version)
        if found is None:
            view = self._versions
            old, new = view.at(self._old, api_version), view.at(self._new, api_version)
            changed, removed = compare(old, new, view.shape(api_version))
            if self._ignore:
                changed, removed = without(changed, self._ignore), without(removed, self._ignore)
            found = self._known[api_version] = (changed, removed)
        return found


def entry_of(identity: Identity, fields: FieldSet, time: str) -> JsonObject:
    manager, operation, api_version, subresource = identity
    entry: JsonObject = {
        "manager": manager,
        "operation": operation,
        "apiVersion": api_version,
        "time": time,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    if subresource:
        entry["subresource"] = subresource
    return entry


def identity_of(entry: JsonObject) -> Identity:
    """The key by which entries belong to the same manager; for apply, the version does not count."""
    operation = entry["operation"]
    version = "" if operation == "Apply" else entry["apiVersion"]
    return entry.get("manager", ""), operation, version, entry.get("subresource", "")


def lose(entry: JsonObject, changed: FieldSet, removed: FieldSet) -> JsonObject | None:
    """The entry without what another manager changed or removed; None if nothing is left."""
    fields = entry["fieldsV1"]
    rest = difference(fields, changed)
    if removed:
        rest = difference(rest, removed)
    if rest is fields:
        return entry
    return {**entry, "fieldsV1": rest} if rest else None


def in_order(entries: list[JsonObject]) -> list[JsonObject]:
    return sorted(entries, key=_sort_key) if len(entries) > 1 else entries


def stored_entries(metadata: JsonObject) -> list[JsonObject]:
    entries: list[JsonObject] = metadata.get("managedFields") or []
    return entries


def read_entries(entries: Json) -> list[JsonObject]:
    """The managedFields of a request, or `BadRequestError` where Kubernetes cannot read them."""
    if not isinstance(entries, list):
        raise BadRequestError("metadata.managedFields must be a list")
    for place, entry in enumerate(entries):
        if not isinstance(entry, dict) or entry.get("operation") not in ("Apply", "Update"):
            raise BadRequestError("operation must be `Apply` or `Update`")
        if not entry.get("apiVersion") or not isinstance(entry["apiVersion"], str):
            raise BadRequestError("apiVersion must not be empty")
        if entry.get("fieldsType") != "FieldsV1":
            raise BadRequestError(f"missing or invalid fieldsType in managed fields entry {place}")
        field_set.check(entry.get("fieldsV1") or {})
    return [{**entry, "fieldsV1": entry.get("fieldsV1") or {}} for entry in entries]


def keep_times(old: JsonObject, new: JsonObject) -> JsonObject:
    """`new`, or `old` itself where they differ in nothing but the times of managedFields.

    For the very end of a write, when defaults and admission may have undone what looked like a change.
    """
    ours, theirs = old.get("metadata") or {}, new.get("metadata") or {}
    # It counts nearly every change, so most writes need no comparison.
    if ours.get("generation") != theirs.get("generation"):
        return new
    if {**ours, "managedFields": None} != {**theirs, "managedFields": None}:
        return new
    if {**old, "metadata": None} != {**new, "metadata": None}:
        return new
    return old if _timeless(ours) == _timeless(theirs) else new


def _timeless(metadata: JsonObject) -> list[JsonObject]:
    return [{**entry, "time": ""} for entry in stored_entries(metadata)]


def _starting_entries(old: JsonObject | None, new: JsonObject, subresource: str) -> list[JsonObject]:
    stored = stored_entries(old.get("metadata") or {}) if old else []
    sent = (new.get("metadata") or {}).get("managedFields")
    if subresource or sent is None or sent == stored:
        return stored
    if not sent or sent == [{}]:
        return []
    try:
        return read_entries(sent)
    except BadRequestError:
        return stored


def _current(entries: list[JsonObject], known_versions: Container[str] | None) -> list[JsonObject]:
    if known_versions is None:
        return entries
    return [entry for entry in entries if entry["apiVersion"] in known_versions]


def _capped(entries: list[JsonObject]) -> list[JsonObject]:
    """At most ten updaters: the oldest of the same version become one."""
    entries = in_order(entries)
    if len(entries) <= MAX_UPDATE_MANAGERS:
        return entries
    surplus = sum(1 for entry in entries if entry["operation"] == "Update") - MAX_UPDATE_MANAGERS
    if surplus <= 0:
        return entries
    buckets: dict[str, list[JsonObject]] = {}
    for entry in entries:
        if entry["operation"] != "Update":
            continue
        bucket = buckets.setdefault(entry["apiVersion"], [])
        surplus -= bool(bucket)
        bucket.append(entry)
        if surplus <= 0:
            break
    gone = {id(entry) for bucket in buckets.values() if len(bucket) > 1 for entry in bucket}
    kept = [entry for entry in entries if id(entry) not in gone]
    return in_order([*kept, *(_bucketed(bucket) for bucket in buckets.values() if len(bucket) > 1)])


def _bucketed(entries: list[JsonObject]) -> JsonObject:
    fields: FieldSet = {}
    for entry in entries:
        fields = union(fields, entry["fieldsV1"])
    newest = entries[-1]
    return entry_of((ANCIENT, "Update", newest["apiVersion"], ""), fields, newest.get("time", ""))


def _sort_key(entry: JsonObject) -> tuple[Any, ...]:
    return (
        entry["operation"],
        entry.get("time") or "",
        entry.get("manager", ""),
        entry["apiVersion"],
        entry.get("subresource", ""),
    )
