"""Versions that a definition keeps although no valid type declares them. Pure.

The version of a type that became invalid stays as it was found, so its resources stay. A former storage version stays
until its resources are migrated: a server would refuse to remove it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from homeostat.objects.json import JsonObject
from homeostat.operators.actions.api import ResourceType
from homeostat.operators.actions.types.naming import resource_kind


def kept_versions(wanted: JsonObject, others: Iterable[ResourceType], found: JsonObject | None) -> JsonObject:
    """Adds to `wanted` the found versions of `others` that it lacks: of invalid types, and of types that are being
    deleted while objects may be stored in their versions. The storage version stays: in another one, stored objects
    would lose the fields that it does not have.
    """
    if found is None:
        return wanted
    stored = _stored(found)
    versions = ((resource_kind(each.spec).version, each.is_terminating) for each in others)
    staying = {version for version, is_going in versions if not is_going or version in stored}
    return _joined(wanted, _versions(found, staying, wanted))


def stored_versions_kept(wanted: JsonObject, found: JsonObject) -> JsonObject:
    """Adds every version that resources may be stored in; the storage version is that of `wanted`."""
    more = _versions(found, _stored(found), wanted)
    return _joined(wanted, [{**each, "storage": False} for each in more])


def _versions(found: JsonObject, names: Collection[str], wanted: JsonObject) -> list[JsonObject]:
    own = {each["name"] for each in wanted["spec"]["versions"]}
    return [each for each in found["spec"]["versions"] if each["name"] in names and each["name"] not in own]


def _joined(wanted: JsonObject, more: list[JsonObject]) -> JsonObject:
    if not more:
        return wanted
    spec = wanted["spec"]
    is_theirs = any(each["storage"] for each in more)
    own = [{**each, "storage": False} if is_theirs else each for each in spec["versions"]]
    return {**wanted, "spec": {**spec, "versions": [*own, *more]}}


def _stored(found: JsonObject) -> list[str]:
    return (found.get("status") or {}).get("storedVersions") or []
