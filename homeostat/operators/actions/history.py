"""The record of reconciliations: what goes into it, and what leaves it. Pure.

Each reconciliation is one entry under a name that is known beforehand, so that writing it twice is writing it once.
A resource keeps its newest entries, and none that is too old; when it is gone, its entries stay until they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.objects.timestamp import parse_time
from homeostat.operators.actions.api import RECONCILIATION, RESOURCE_UID, Keep, ReconciliationSpec, Resource
from homeostat.operators.actions.digest import digest_of
from homeostat.operators.actions.world import Entry

_LONGEST_NAME = 200


class Record(msgspec.Struct, frozen=True):
    """Write an entry, unless it is there."""

    name: str
    spec: ReconciliationSpec


class Prune(msgspec.Struct, frozen=True):
    """Remove an entry, if it is there."""

    name: str


def entry_name(resource: Resource, sequence: int) -> str:
    metadata = resource.metadata
    stem = metadata.name[:_LONGEST_NAME].rstrip("-.")
    return f"{stem}-{digest_of(metadata.uid)[:8]}-{sequence}"


def entry_object(record: Record, namespace: str) -> JsonObject:
    return {
        "apiVersion": RECONCILIATION.kind.api_version,
        "kind": RECONCILIATION.kind.kind,
        "metadata": {
            "name": record.name,
            "namespace": namespace,
            "labels": {RESOURCE_UID: record.spec.resource_uid},
        },
        "spec": msgspec.to_builtins(record.spec),
    }


def plan_history(held: Iterable[Entry], record: Record, keep: Keep, *, now: datetime) -> tuple[Record | Prune, ...]:
    """The new entry, and those that go: too old, or more than are kept."""
    others = sorted((each for each in held if each.name != record.name), key=lambda each: each.finished, reverse=True)
    oldest = now - timedelta(days=keep.max_age_days)
    kept = [each for each in others[: keep.entries - 1] if parse_time(each.finished) > oldest]
    return (record, *(Prune(each.name) for each in others if each not in kept))


def expired(held: Iterable[Entry], keep: Keep, *, now: datetime) -> tuple[Prune, ...]:
    """What of the history of resources that are gone has become too old."""
    oldest = now - timedelta(days=keep.max_age_days)
    return tuple(Prune(each.name) for each in held if parse_time(each.finished) <= oldest)
