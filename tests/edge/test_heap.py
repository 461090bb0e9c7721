from __future__ import annotations

import sys
from pathlib import Path

import pytest

from homeostat.edge.heap import MANY_CLOSED, Heap, release_free_memory

PIECE = 64 * 1024


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.skipif(sys.platform != "linux", reason="other systems release memory by themselves, or never")
def test_memory_that_was_freed_between_other_memory_is_released() -> None:
    pieces = [bytearray(b"x" * PIECE) for _ in range(1600)]
    kept = pieces[::16]
    del pieces
    before = resident_bytes()
    release_free_memory()
    assert before - resident_bytes() > 50 * 1024 * 1024
    assert len(kept) == 100


def test_memory_is_released_after_many_connections_and_not_again_at_once() -> None:
    heap = Heap()
    for _ in range(MANY_CLOSED - 1):
        heap.note_closed()
    assert not heap.is_due(100.0)
    heap.note_closed()
    assert heap.is_due(100.0)
    for _ in range(MANY_CLOSED):
        heap.note_closed()
    assert not heap.is_due(100.5)
    assert heap.is_due(101.5)
