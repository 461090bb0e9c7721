"""The history of reconciliations: the entries that a reconciliation writes and prunes. Pure.

Each reconciliation is one entry. Its name is known beforehand, so writing it again replaces it, and the entry to prune
is known without a list. `sweep.py` removes entries by their age.
"""

from __future__ import annotations

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.operators.actions.api import ID, RECONCILIATION, RESOURCE_UID, Keep, ReconciliationSpec, Resource
from homeostat.operators.actions.digest import digest_of

_LONGEST_NAME = 200


class Record(msgspec.Struct, frozen=True):
    """Write an entry; it replaces an existing one of the same name."""

    name: str
    spec: ReconciliationSpec
    number: str = ""
    """The number of the resource, if it has one."""


class Prune(msgspec.Struct, frozen=True):
    """Remove an entry, if it exists."""

    name: str


def record_name(resource: Resource) -> str:
    """Returns the prefix of the names of all history entries of a resource."""
    metadata = resource.metadata
    stem = metadata.name[:_LONGEST_NAME].rstrip("-.")
    return f"{stem}-{digest_of(metadata.uid)[:8]}"


def entry_name(resource: Resource, number: int) -> str:
    return f"{record_name(resource)}-{number}"


def entry_object(record: Record, namespace: str) -> JsonObject:
    return {
        "apiVersion": RECONCILIATION.kind.api_version,
        "kind": RECONCILIATION.kind.kind,
        "metadata": {
            "name": record.name,
            "namespace": namespace,
            "labels": {RESOURCE_UID: record.spec.resource_uid, **({ID: record.number} if record.number else {})},
        },
        "spec": msgspec.to_builtins(record.spec),
    }


def plan_history(resource: Resource, number: int, spec: ReconciliationSpec, keep: Keep) -> tuple[Record | Prune, ...]:
    """Returns the entry to prune and then the new one, so that there are never too many."""
    record = Record(entry_name(resource, number), spec, resource.metadata.labels.get(ID, ""))
    surplus = number - keep.entries
    return (Prune(entry_name(resource, surplus)), record) if surplus > 0 else (record,)
