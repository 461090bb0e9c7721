"""The conditions of a terminating namespace, which report its remaining content. Pure.

Types, reasons and messages are those of Kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from homeostat.objects.errors import ApiError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import Kind
from homeostat.operators.housekeeping.metadata.metadata import Metadata

_FINE = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": ("ParsedGroupVersions", "All legacy kube types successfully parsed"),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}


class RemainingContent(msgspec.Struct):
    objects: dict[str, int] = msgspec.field(default_factory=dict)
    """How many of each `plural.group`."""
    finalizers: dict[str, int] = msgspec.field(default_factory=dict)
    errors: list[ApiError] = msgspec.field(default_factory=list)

    def count(self, kind: Kind, left: Iterable[Metadata]) -> None:
        for each in left:
            name = f"{kind.plural}.{kind.group}"
            self.objects[name] = self.objects.get(name, 0) + 1
            for finalizer in each.finalizers or ():
                self.finalizers[finalizer] = self.finalizers.get(finalizer, 0) + 1

    @property
    def is_empty(self) -> bool:
        return not self.objects and not self.errors


def merge_conditions(current: Sequence[JsonObject], remaining: RemainingContent, *, now: str) -> list[JsonObject]:
    """The conditions of the namespace with ours updated; equal to `current` if nothing has changed."""
    merged = {each.get("type", ""): each for each in current}
    failing = _failing(remaining)
    for kind, (fine_reason, fine_message) in _FINE.items():
        reason, message = failing.get(kind, (fine_reason, fine_message))
        status = "True" if kind in failing else "False"
        former = merged.get(kind)
        since = former.get("lastTransitionTime") if former and former.get("status") == status else None
        merged[kind] = {
            "type": kind,
            "status": status,
            "lastTransitionTime": since or now,
            "reason": reason,
            "message": message,
        }
    return list(merged.values())


def _failing(remaining: RemainingContent) -> dict[str, tuple[str, str]]:
    failing = {}
    if remaining.errors:
        messages = ", ".join(sorted(error.message for error in remaining.errors))
        failing["NamespaceDeletionContentFailure"] = (
            "ContentDeletionFailed",
            f"Failed to delete all resource types, {len(remaining.errors)} remaining: {messages}",
        )
    if remaining.objects:
        counts = _counted(remaining.objects, "has {} resource instances")
        failing["NamespaceContentRemaining"] = ("SomeResourcesRemain", f"Some resources are remaining: {counts}")
    if remaining.finalizers:
        counts = _counted(remaining.finalizers, "in {} resource instances")
        failing["NamespaceFinalizersRemaining"] = (
            "SomeFinalizersRemain",
            f"Some content in the namespace has finalizers remaining: {counts}",
        )
    return failing


def _counted(counts: Mapping[str, int], words: str) -> str:
    return ", ".join(sorted(f"{name} {words.format(count)}" for name, count in counts.items()))
