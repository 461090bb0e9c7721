"""The labels of a Pod: a mapping that takes a third of the memory of a dict.

A Pod has only a few labels, so a linear search is as quick as a hash lookup.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

_MOST_SHARED = 65_536
_LONGEST_SHARED = 512
"""Characters of all keys and values."""


class Labels(Mapping[str, str]):
    """Frozen. Made by `labels_of`."""

    __slots__ = ("_texts",)

    def __init__(self, texts: tuple[str, ...] = ()) -> None:
        """Each key followed by its value."""
        self._texts = texts

    def __getitem__(self, key: str) -> str:
        texts = self._texts
        for at in range(0, len(texts), 2):
            if texts[at] == key:
                return texts[at + 1]
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts[::2])

    def __len__(self) -> int:
        return len(self._texts) // 2

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Labels) and self._texts == other._texts:
            return True
        return super().__eq__(other)

    def __hash__(self) -> int:
        return hash(frozenset(self.items()))

    def __repr__(self) -> str:
        return f"Labels({dict(self)})"


_known: dict[tuple[str, ...], Labels] = {}


def labels_of(labels: Mapping[str, str | None]) -> Labels:
    """Equal labels share one value, unless they are many. Null becomes an empty text."""
    if isinstance(labels, Labels):
        return labels
    texts = tuple([each or "" for each in chain.from_iterable(labels.items())])
    found = _known.get(texts)
    if found is None:
        found = Labels(texts)
        # Whoever writes others like these again and again would fill the memory.
        if sum(map(len, texts)) <= _LONGEST_SHARED:
            if len(_known) >= _MOST_SHARED:
                _known.clear()
            _known[texts] = found
    return found
