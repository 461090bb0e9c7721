"""Versions that a definition keeps although no sound type asks for them. Pure.

A type that became wrong keeps its resources where they are: its version stays as it was found. A version that resources
were stored in stays until they are stored in another; a server would refuse to let it go.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from homeostat.objects.json import JsonObject
from homeostat.operators.actions.api import ResourceType
from homeostat.operators.actions.types.naming import resource_kind


def kept_versions(wanted: JsonObject, others: Iterable[ResourceType], found: JsonObject | None) -> JsonObject:
    """`wanted`, with what was found of the versions of `others` that are not in it: all that are wrong, and of those
    that are going what may still be stored. What of them is stored now is stored on: a stored object loses what its
    version does not know.
    """
    if found is None:
        return wanted
    stored = _stored(found)
    versions = ((resource_kind(each.spec).version, each.is_terminating) for each in others)
    staying = {version for version, is_going in versions if not is_going or version in stored}
    return _joined(wanted, _versions(found, staying, wanted))


def stored_versions_kept(wanted: JsonObject, found: JsonObject) -> JsonObject:
    """`wanted`, with every version that resources may be stored in; the one that `wanted` stores is stored."""
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
