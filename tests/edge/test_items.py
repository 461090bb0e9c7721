"""A list arrives whole, whatever its items measure."""

from __future__ import annotations

import itertools

import pytest

from homeostat.edge.items import Items

SIZE = 10
ITEMS = (b"<<a", b"<<0123456789", b"<<" + b"x" * 35, b"<<", b"<<bc")


@pytest.mark.parametrize("count", range(4))
@pytest.mark.parametrize("cut", [0, 2])
def test_pieces_are_the_list_without_the_first_bytes_of_items(count: int, cut: int) -> None:
    for values in itertools.product(ITEMS, repeat=count):
        for head, tail in ((b"[", b"]"), (b"", b"")):
            body = Items(head, values, tail, separator=b",{", cut=cut)
            whole = head + b",{".join(each[cut:] for each in values) + tail
            assert b"".join(body.pieces(SIZE)) == b"".join(body) == body.whole() == whole
            assert body.size == len(whole)
            # An item that is smaller than a piece comes on top, and the head and tail with it.
            assert all(len(each) < 3 * SIZE for each in body.pieces(SIZE))


def test_large_items_are_not_copied() -> None:
    value = b"x" * 100
    (head, *pieces, tail) = Items(b"[", [value], b"]", cut=5).pieces(SIZE)
    assert (head, tail, len(pieces)) == (b"[", b"]", 10)
    assert all(isinstance(each, memoryview) and each.obj is value for each in pieces)
