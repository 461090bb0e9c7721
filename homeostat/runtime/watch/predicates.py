"""Predicates on a `Change`: they filter out changes that need no reconciliation.

A created or deleted object always passes. A predicate filters events and never limits a reconciliation: an object that
is queued for any reason is reconciled in full. The projection must have the fields that a predicate reads.
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
    """Passes if the result of the function is different for the old and the new object."""

    def counts(change: Change[V]) -> bool:
        return change.old is None or change.new is None or part(change.old) != part(change.new)

    return counts


def generation_changed(change: Change[HasGeneration]) -> bool:
    """Passes if the spec changed or deletion started; for kinds without generations (ConfigMap, Secret), always."""
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
    """Passes if annotations with these names or this prefix changed; without either, any annotation."""

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
