"""The record of reconciliations: what goes into it, and what leaves it. Pure.

Each reconciliation is one entry under a name that is known beforehand, so that writing it twice is writing it once, and
the one that makes room for it is known without looking. A resource keeps its newest entries, and none that is too old;
when it is gone, its entries stay until they are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.objects.timestamp import format_time
from homeostat.operators.actions.api import RECONCILIATION, RESOURCE_UID, Keep, ReconciliationSpec, Resource
from homeostat.operators.actions.digest import digest_of

_LONGEST_NAME = 200


class Record(msgspec.Struct, frozen=True):
    """Write an entry, unless it is there."""

    name: str
    spec: ReconciliationSpec


class Prune(msgspec.Struct, frozen=True):
    """Remove an entry, if it is there."""

    name: str


def entry_name(resource: Resource, number: int) -> str:
    metadata = resource.metadata
    stem = metadata.name[:_LONGEST_NAME].rstrip("-.")
    return f"{stem}-{digest_of(metadata.uid)[:8]}-{number}"


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


def plan_history(resource: Resource, number: int, spec: ReconciliationSpec, keep: Keep) -> tuple[Record | Prune, ...]:
    """The new entry, and the one that makes room for it."""
    record = Record(entry_name(resource, number), spec)
    surplus = number - keep.entries
    return (record, Prune(entry_name(resource, surplus))) if surplus > 0 else (record,)


class KeptMetadata(msgspec.Struct, frozen=True, rename="camel", gc=False):
    name: str
    namespace: str = ""
    resource_version: str = ""


class KeptSpec(msgspec.Struct, frozen=True, rename="camel", gc=False):
    resource_kind: str
    resource_uid: str
    finished: str


class Kept(msgspec.Struct, frozen=True):
    """An entry that is there, as far as it is asked whether it may stay."""

    metadata: KeptMetadata
    spec: KeptSpec


def surplus_entries(held: Iterable[Kept], keep_of: Callable[[str], Keep], *, now: datetime) -> list[Kept]:
    """Entries that are too old, and those of resources that keep fewer than they did; `keep_of` goes by kind."""
    by_resource: defaultdict[str, list[Kept]] = defaultdict(list)
    for each in held:
        by_resource[each.spec.resource_uid].append(each)
    found = []
    for entries in by_resource.values():
        keep = keep_of(entries[0].spec.resource_kind)
        oldest = format_time(now - timedelta(days=keep.max_age_days))
        entries.sort(key=lambda each: each.spec.finished, reverse=True)
        found += [each for at, each in enumerate(entries) if at >= keep.entries or each.spec.finished <= oldest]
    return found
