"""Which changes count: functions that ask one `Change`, to keep an operator from work that has nothing to do.

An object that is new or gone always counts. A predicate gates events and never a decision: whatever is queued for any
reason is decided on in full. The fields that one asks about must be in the projection.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

from homeostat.runtime.cache.cache import Change
from homeostat.runtime.cache.index import HasLabels

V = TypeVar("V")
Predicate = Callable[[Change[V]], bool]


class _Generated(Protocol):
    @property
    def generation(self) -> int: ...
    @property
    def deletion_timestamp(self) -> str | None: ...


class _Annotations(Protocol):
    @property
    def annotations(self) -> Mapping[str, str] | None: ...


class HasGeneration(Protocol):
    @property
    def metadata(self) -> _Generated: ...


class HasAnnotations(Protocol):
    @property
    def metadata(self) -> _Annotations: ...


def changed(part: Callable[[V], object]) -> Predicate[V]:
    """Counts when what the function makes of the object is no longer the same."""

    def counts(change: Change[V]) -> bool:
        return change.old is None or change.new is None or part(change.old) != part(change.new)

    return counts


def generation_changed(change: Change[HasGeneration]) -> bool:
    """The spec changed, or deletion began. Of a kind that counts no generations (ConfigMap, Secret), every change."""
    if change.old is None or change.new is None:
        return True
    old, new = change.old.metadata, change.new.metadata
    if old.generation == new.generation == 0:
        return True
    return old.generation != new.generation or (old.deletion_timestamp is None) != (new.deletion_timestamp is None)


def labels_changed(change: Change[HasLabels]) -> bool:
    if change.old is None or change.new is None:
        return True
    return (change.old.metadata.labels or {}) != (change.new.metadata.labels or {})


def annotations_changed(*names: str, prefix: str = "") -> Predicate[HasAnnotations]:
    """Counts only the annotations of these names or with this prefix; all of them where none is given."""

    def own(obj: HasAnnotations) -> Mapping[str, str]:
        annotations = obj.metadata.annotations or {}
        if not names and not prefix:
            return annotations
        return {
            each: annotations[each] for each in annotations if each in names or (prefix and each.startswith(prefix))
        }

    return changed(own)


def any_of(*predicates: Predicate[V]) -> Predicate[V]:
    return lambda change: any(counts(change) for counts in predicates)


def all_of(*predicates: Predicate[V]) -> Predicate[V]:
    return lambda change: all(counts(change) for counts in predicates)
