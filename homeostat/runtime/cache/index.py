"""An index of a cache: objects by key, where a function returns the keys of an object.

Most indexes have many keys with few objects each (an owner, a referenced Secret), others have few keys with many
objects (a label). So a small group is a tuple and a large one a dict: a set for each key would cost more than the
objects.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Generic, Protocol, TypeVar

V = TypeVar("V")
Name = tuple[str, str]
"""Namespace and name."""
KeysOf = Callable[[V], Iterable[Hashable]]
"""The keys under which an object is found."""

_LARGEST_TUPLE = 8


class Index(Generic[V]):
    __slots__ = ("_groups", "_keys_of")

    def __init__(self, keys_of: KeysOf[V]) -> None:
        self._keys_of = keys_of
        self._groups: dict[Hashable, tuple[Name, ...] | dict[Name, None]] = {}

    def names(self, key: Hashable) -> Iterable[Name]:
        """In the order in which they were added to the key."""
        return self._groups.get(key, ())

    def __len__(self) -> int:
        return len(self._groups)

    def move(self, name: Name, old: V | None, new: V | None) -> None:
        """The object was `old` and is `new`; either may be missing. Under an unchanged key it keeps its position."""
        before = () if old is None else tuple(self._keys_of(old))
        after = () if new is None else tuple(self._keys_of(new))
        if before == after:
            return
        # A Pod may have thousands of labels, and each is a key.
        remaining, known = frozenset(after), frozenset(before)
        for key in before:
            if key not in remaining:
                self._leave(key, name)
        for key in after:
            if key not in known:
                self._join(key, name)

    def _join(self, key: Hashable, name: Name) -> None:
        group = self._groups.get(key)
        if group is None:
            self._groups[key] = (name,)
        elif isinstance(group, dict):
            group[name] = None
        elif name not in group:
            grown = (*group, name)
            self._groups[key] = grown if len(grown) <= _LARGEST_TUPLE else dict.fromkeys(grown)

    def _leave(self, key: Hashable, name: Name) -> None:
        group = self._groups.get(key, ())
        if isinstance(group, dict):
            group.pop(name, None)
            left: tuple[Name, ...] | dict[Name, None] = group if len(group) > _LARGEST_TUPLE // 2 else tuple(group)
        else:
            left = tuple(each for each in group if each != name)
        if left:
            self._groups[key] = left
        else:
            self._groups.pop(key, None)


class _Labels(Protocol):
    @property
    def labels(self) -> Mapping[str, str] | None: ...


class HasLabels(Protocol):
    @property
    def metadata(self) -> _Labels: ...


def by_label(label: str) -> KeysOf[HasLabels]:
    """Objects by the value of a label; objects without the label are not in the index."""

    def keys_of(obj: HasLabels) -> Iterable[Hashable]:
        labels = obj.metadata.labels
        return (labels[label],) if labels and label in labels else ()

    return keys_of
