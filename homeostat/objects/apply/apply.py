"""Server-side apply: a manager declares the fields it wants, and owns exactly those.

Fields it applied before and leaves out now go away, unless another manager holds them. A field that another manager
holds with a different value is a conflict, which `force` takes over. Applying the same twice changes nothing: the
second result is the live object itself, so that no revision is made.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from itertools import islice

from homeostat.objects.apply.field_diff import compare, created_fields, fields_of
from homeostat.objects.apply.field_set import (
    LEAF,
    FieldSet,
    difference,
    intersection,
    ordered,
    path_text,
    paths,
    union,
    without,
)
from homeostat.objects.apply.last_applied import MANAGER as KUBECTL
from homeostat.objects.apply.last_applied import client_side_fields, remember
from homeostat.objects.apply.managed import UNTRACKED, Changes, entry_of, identity_of, in_order, lose, stored_entries
from homeostat.objects.apply.merge import merge, prune
from homeostat.objects.apply.shape import Shape, shape_of
from homeostat.objects.apply.versions import Versions
from homeostat.objects.errors import MOST_CAUSES, BadRequestError, Cause, ConflictError, quoted
from homeostat.objects.json import JsonObject
from homeostat.objects.schema.schema import Schema

BEFORE_FIRST_APPLY = "before-first-apply"

_SERVER_SET = ("creationTimestamp", "deletionTimestamp", "uid", "resourceVersion", "generation", "selfLink")


def apply(
    live: JsonObject | None,
    config: JsonObject,
    schema: Schema,
    *,
    manager: str,
    api_version: str,
    now: str,
    force: bool = False,
    subresource: str = "",
    ignore: FieldSet | None = None,
    known_versions: Container[str] | None = None,
    versions: Versions | None = None,
) -> JsonObject:
    """The object after `manager` applied `config` to `live` (None: it does not exist), with its managedFields.

    Returns `live` itself if nothing changes. `ignore`, `known_versions` and `versions` as in `update_managed`. The
    result shares parts with `live` and `config`. Raises `ConflictError` with a cause for every field that another
    manager holds.
    """
    config = _checked(config, api_version)
    shape = shape_of(schema)
    before: JsonObject = live if live is not None else {}
    entries = stored_entries(before.get("metadata") or {})
    if live is not None and not entries:
        entries = _first_entries(live, shape, api_version, now)
    elif (known := known_versions if versions is None else versions) is not None:
        entries = [entry for entry in entries if entry["apiVersion"] in known]
    wanted = fields_of(config, shape)
    if ignore:
        wanted = without(wanted, ignore)
    identity = (manager, "Apply", "", subresource)
    own: JsonObject | None = None
    others = []
    for entry in entries:
        if own is None and entry["operation"] == "Apply" and identity_of(entry) == identity:
            own = entry
        else:
            others.append(entry)

    claimed = difference(wanted, UNTRACKED)
    if own is not None and own["fieldsV1"] == claimed and own["apiVersion"] == api_version:
        claimed = own["fieldsV1"]  # in order
        after = _live_or(before, merge(before, config, shape))
    elif versions is None or own is None:
        after = _merged(before, config, shape, own=own, others=others, wanted=wanted)
    else:
        after = _merged_between(before, config, versions, own=own, others=others, wanted=wanted)
    if after is not before:
        changed, removed = compare(before, after, shape)
        if ignore:
            changed, removed = without(changed, ignore), without(removed, ignore)
        changes = Changes(before, after, versions, ignore, {api_version: (changed, removed)})
        others = _settle(before, shape, changes, manager=manager, others=others, force=force)
    time = now if own is None or after is not before else own.get("time", now)
    claim = _claim(own, (manager, "Apply", api_version, subresource), claimed, time)
    if after is before and not claim and own is None:
        return before
    applied = _with_entries(after, in_order([*others, *claim]))
    return remember(applied, config) if manager == KUBECTL and live is not None else applied


def _checked(config: JsonObject, api_version: str) -> JsonObject:
    """The configuration without the nulls that typed clients send for what only the server sets."""
    if config.get("apiVersion", api_version) != api_version:
        raise BadRequestError(
            "Incorrect version specified in apply patch. "
            f"Specified patch version: {config['apiVersion']}, expected: {api_version}"
        )
    metadata = config.get("metadata")
    if not isinstance(metadata, dict):
        if metadata is not None:
            raise BadRequestError("metadata must be an object")
        return config
    if metadata.get("managedFields") is not None:
        raise BadRequestError("metadata.managedFields must be nil")
    if None not in metadata.values():
        return config
    nulls = [name for name in (*_SERVER_SET, "managedFields") if name in metadata and metadata[name] is None]
    return {**config, "metadata": {name: item for name, item in metadata.items() if name not in nulls}}


def _first_entries(live: JsonObject, shape: Shape, api_version: str, now: str) -> list[JsonObject]:
    """Fields that were set while managers were not tracked belong to the manager `before-first-apply`."""
    fields = difference(created_fields(live, shape), UNTRACKED)
    return [entry_of((BEFORE_FIRST_APPLY, "Update", api_version, ""), fields, now)] if fields else []


def _merged(
    live: JsonObject,
    config: JsonObject,
    shape: Shape,
    *,
    own: JsonObject | None,
    others: Iterable[JsonObject],
    wanted: FieldSet,
) -> JsonObject:
    after = merge(live, config, shape)
    last = own["fieldsV1"] if own else LEAF
    if last and difference(last, wanted):
        managed = wanted
        for entry in others:
            managed = union(managed, entry["fieldsV1"])
        # Merged again, because an emptied list may be one that the configuration asks for empty.
        after = merge(prune(after, last, managed, shape), config, shape)
    return _live_or(live, after)


def _live_or(live: JsonObject, after: JsonObject) -> JsonObject:
    return live if after == live else after


def _merged_between(
    live: JsonObject,
    config: JsonObject,
    versions: Versions,
    *,
    own: JsonObject,
    others: Iterable[JsonObject],
    wanted: FieldSet,
) -> JsonObject:
    """As `_merged`, where managers see the object at different versions: what the manager applied before is removed at
    the version at which it applied it, and comes back at the version of whoever manages it too.
    """
    applied, last_version = config["apiVersion"], own["apiVersion"]
    after = merge(live, config, versions.shape(applied))
    managed = {applied: wanted}
    for entry in others:
        managed[entry["apiVersion"]] = union(managed.get(entry["apiVersion"], LEAF), entry["fieldsV1"])
    whole = versions.at(after, last_version)
    pruned = prune(whole, own["fieldsV1"], managed.pop(last_version, LEAF), versions.shape(last_version))
    if pruned == whole:
        return _live_or(live, after)
    for version, fields in managed.items():
        shape = versions.shape(version)
        whole, pruned = versions.at(whole, version), versions.at(pruned, version)
        pruned = prune(whole, difference(fields_of(whole, shape), fields_of(pruned, shape)), fields, shape)
    after = merge(versions.at(pruned, applied), config, versions.shape(applied))
    after = {**after, "metadata": _with_managers(after["metadata"], live)}
    return _live_or(live, after)


def _with_managers(metadata: JsonObject, live: JsonObject) -> JsonObject:
    entries = stored_entries(live.get("metadata") or {})
    return {**metadata, "managedFields": entries} if entries else metadata


def _settle(
    before: JsonObject,
    shape: Shape,
    changes: Changes,
    *,
    manager: str,
    others: list[JsonObject],
    force: bool,
) -> list[JsonObject]:
    """The other managers' entries after the change, or the conflict with them."""
    if not force:
        conflicts = [
            (entry, both)
            for entry in others
            if (both := intersection(entry["fieldsV1"], changes.at(entry["apiVersion"])[0]))
        ]
        if conflicts and manager == KUBECTL:
            own = client_side_fields(before, shape)
            conflicts = [(entry, foreign) for entry, both in conflicts if (foreign := difference(both, own))]
        if conflicts:
            raise _conflict(conflicts)
    return [rest for entry in others if (rest := lose(entry, *changes.at(entry["apiVersion"]))) is not None]


def _conflict(conflicts: list[tuple[JsonObject, FieldSet]]) -> ConflictError:
    total = sum(1 for _, fields in conflicts for _ in paths(fields))
    found = [(_described(entry), _listed(fields)) for entry, fields in conflicts]
    found.sort()
    causes = [Cause("FieldManagerConflict", f"conflict with {who}", field) for who, fields in found for field in fields]
    if total == 1:
        message = f"Apply failed with 1 conflict: conflict with {found[0][0]}: {causes[0].field}"
    else:
        lines = [
            line for who, fields in found for line in (f"conflicts with {who}:", *(f"- {each}" for each in fields))
        ]
        message = f"Apply failed with {total} conflicts: " + "\n".join(lines)
    return ConflictError(message, causes=causes)


def _listed(fields: FieldSet) -> list[str]:
    """The fields of a conflict in words, as many as an error lists."""
    return [path_text(path) for path in islice(paths(fields), MOST_CAUSES)]


def _described(entry: JsonObject) -> str:
    text = quoted(entry.get("manager", ""))
    if entry.get("subresource"):
        text += f" with subresource {quoted(entry['subresource'])}"
    return f"{text} using {entry['apiVersion']}" if entry["operation"] == "Update" else text


def _claim(
    own: JsonObject | None, identity: tuple[str, str, str, str], fields: FieldSet, time: str
) -> list[JsonObject]:
    if not fields:
        return []
    is_ordered = own is not None and own["fieldsV1"] is fields
    entry = entry_of(identity, fields if is_ordered else ordered(fields), time)
    return [own if own == entry else entry]


def _with_entries(value: JsonObject, entries: list[JsonObject]) -> JsonObject:
    metadata = value.get("metadata") or {}
    if stored_entries(metadata) == entries:
        return value
    rest = {name: item for name, item in metadata.items() if name != "managedFields"}
    return {**value, "metadata": {**rest, "managedFields": entries} if entries else rest}
