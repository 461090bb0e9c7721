"""The history of reconciliations: which entries are written and which are removed. Pure.

Each reconciliation is one entry. Its name is known beforehand, so writing it again replaces it, and the entry to prune
is known without a list. A resource keeps its newest entries, up to a maximum age. The entries of a deleted resource
stay until they reach that age.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.objects.time.timestamp import format_micro_time
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


class KeptMetadata(msgspec.Struct, frozen=True, rename="camel", gc=False):
    name: str
    namespace: str = ""
    resource_version: str = ""


class KeptSpec(msgspec.Struct, frozen=True, rename="camel", gc=False):
    resource_kind: str
    resource_uid: str
    finished: str


class Kept(msgspec.Struct, frozen=True):
    """The fields of an existing entry that decide whether it is kept."""

    metadata: KeptMetadata
    spec: KeptSpec


class HistorySweep:
    """Finds entries that are too old or too many; `keep_of` returns the history settings of a kind.

    Entries come page by page in the order of their names, so those of one resource come together. In memory are only
    one page and the unfinished resource of the page before.
    """

    def __init__(self, keep_of: Callable[[str], Keep], *, now: datetime) -> None:
        self._keep_of, self._now = keep_of, now
        self._open: defaultdict[str, list[Kept]] = defaultdict(list)

    def take(self, page: Iterable[Kept]) -> list[Kept]:
        """Returns the surplus of resources whose entries are complete."""
        found = set()
        for each in page:
            self._open[each.spec.resource_uid].append(each)
            found.add(each.spec.resource_uid)
        complete = self._open.keys() - found
        return [each for uid in complete for each in self._surplus(self._open.pop(uid))]

    def end(self) -> list[Kept]:
        rest, self._open = self._open, defaultdict(list)
        return [each for entries in rest.values() for each in self._surplus(entries)]

    def _surplus(self, entries: list[Kept]) -> list[Kept]:
        keep = self._keep_of(entries[0].spec.resource_kind)
        oldest = format_micro_time(self._now - timedelta(days=keep.max_age_days))
        entries.sort(key=lambda each: each.spec.finished, reverse=True)
        return [each for at, each in enumerate(entries) if at >= keep.entries or each.spec.finished <= oldest]
