"""Routes: functions from a `Change` to the objects to reconcile.

A change concerns the new and the former owner of an object, and both are reconciled. A route may return the same
request twice; the queue holds it once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from homeostat.objects.kind import Kind
from homeostat.runtime.cache.cache import Cache, Change
from homeostat.runtime.cache.index import Name
from homeostat.runtime.control.operator import Request

V = TypeVar("V")
Route = Callable[[Change[V]], Iterable[Request]]


class Owner(Protocol):
    @property
    def api_version(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def controller(self) -> bool | None: ...


class _Owners(Protocol):
    @property
    def owner_references(self) -> Sequence[Owner] | None: ...


class Owned(Protocol):
    @property
    def metadata(self) -> _Owners: ...


def to_itself(kind: Kind) -> Route[Any]:
    """The object of the kind that has the same namespace and name."""
    full_name = kind.full_name
    return lambda change: (Request(full_name, change.namespace, change.name),)


def to_owner(kind: Kind, *, any_owner: bool = False) -> Route[Owned]:
    """The object's controller, if that is of the kind, of whichever version.

    `any_owner` also takes owners that are not its controller. An owner is in the object's namespace or in none.
    """
    full_name = kind.full_name

    def is_meant(owner: Owner) -> bool:
        return (
            owner.kind == kind.kind
            and (owner.controller is True or any_owner)
            and owner.api_version.rpartition("/")[0] == kind.group
        )

    def route(change: Change[Owned]) -> Iterator[Request]:
        for obj in _both(change):
            for owner in obj.metadata.owner_references or ():
                if is_meant(owner):
                    yield Request(full_name, change.namespace if kind.is_namespaced else "", owner.name)

    return route


def to_mapped(kind: Kind, names_of: Callable[[V], Iterable[Name]]) -> Route[V]:
    """The objects of the kind that the function names; it may read any cache."""
    full_name = kind.full_name

    def route(change: Change[V]) -> Iterator[Request]:
        for obj in _both(change):
            for namespace, name in names_of(obj):
                yield Request(full_name, namespace, name)

    return route


def to_indexed(kind: Kind, cache: Cache[Any], index: str, key_of: Callable[[V], Hashable]) -> Route[V]:
    """The objects of the kind that the index of their cache has under the key: those that refer to what changed."""
    return to_mapped(kind, lambda obj: cache.indexed_names(index, key_of(obj)))


def _both(change: Change[V]) -> Iterator[V]:
    if change.new is not None:
        yield change.new
    if change.old is not None:
        yield change.old
