"""The body of a list: a head, items with separators between them, and a tail.

The items are the bytes that the store keeps. They are copied only into the piece that is being sent, so a list costs no
memory while its client does not read. `cut` leaves out the first bytes of every item.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from operator import itemgetter

from homeostat.edge.stream import PIECE, split


class Items:
    __slots__ = ("_cut", "_head", "_separator", "_tail", "_values")

    def __init__(
        self, head: bytes, values: Sequence[bytes], tail: bytes, *, separator: bytes = b",", cut: int = 0
    ) -> None:
        self._head, self._values, self._tail = head, values, tail
        self._separator, self._cut = separator, cut

    @property
    def size(self) -> int:
        """How many bytes all of it is."""
        count = len(self._values)
        between = max(count - 1, 0) * len(self._separator)
        return len(self._head) + sum(map(len, self._values)) - count * self._cut + between + len(self._tail)

    def __iter__(self) -> Iterator[bytes | memoryview]:
        return self.pieces()

    def whole(self) -> bytes:
        """All of it in one piece, which takes as much memory again."""
        return b"".join((self._head, self._separator.join(self._cut_items(0, len(self._values))), self._tail))

    def pieces(self, size: int = PIECE) -> Iterator[bytes | memoryview]:
        """All of it in pieces of about `size` bytes: small items are joined, large ones are split without a copy."""
        values, before = self._values, self._head
        # A list has thousands of items: they are measured and cut without a step of the interpreter for each.
        ends = array("Q", accumulate(map(len, values)))
        start = 0
        while start < len(values):
            last = bisect_left(ends, (ends[start - 1] if start else 0) + size, start)
            is_large = last < len(values) and len(values[last]) >= size
            some = self._cut_items(start, last if is_large else last + 1)
            if some:
                some[0] = before + some[0]
                before = self._separator
                if last + 1 >= len(values) and not is_large:
                    some[-1] += self._tail
                yield self._separator.join(some)
            if is_large:
                if before:
                    yield before
                yield from split(memoryview(values[last])[self._cut :], size)
                before = self._separator
            start = last + 1
        if not values:
            yield self._head + self._tail
        elif is_large and self._tail:
            yield self._tail

    def _cut_items(self, start: int, end: int) -> list[bytes]:
        some = self._values[start:end]
        return list(map(itemgetter(slice(self._cut, None)), some)) if self._cut else list(some)


def pieces_of(parts: Sequence[bytes]) -> Iterator[bytes | memoryview]:
    """Parts in pieces of about the size that is written at once."""
    return Items(b"", parts, b"", separator=b"").pieces()


def whole_of(body: bytes | Items) -> bytes:
    return body if isinstance(body, bytes) else body.whole()
