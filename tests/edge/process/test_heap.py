"""A process that runs for long collects its garbage in short steps, and gives back what it has freed."""

from __future__ import annotations

import subprocess
import sys

_PAUSES = """
import gc, time
from homeostat.edge.process.heap import collect_in_short_steps
gc.freeze()
collect_in_short_steps()
longest = began = 0.0
def note(phase, facts):
    global longest, began
    if phase == "start":
        began = time.thread_time()
    else:
        longest = max(longest, time.thread_time() - began)
gc.callbacks.append(note)
kept = [{"a": {"b": [{}, {}, {}]}} for _ in range(200_000)]
print(longest)
"""
_KEPT = """
import os
from homeostat.edge.process.heap import bound_allocator
assert bound_allocator()
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
bytearray(30 << 20)  # From now on, an allocator without a bound has a place for blocks of this size.
before, large, small = resident(), [], []
for _ in range(15):
    large.append(b"x" * (3 << 20))
    small.append(b"x" * 100_000)
del large
print((resident() - before) >> 20)
"""
_PIECES = """
import asyncio, os
from homeostat.edge.process import heap
assert heap.bound_allocator()
heap.RELEASE_EVERY_S = 0.01
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
before, crowd, kept = resident(), [], []
for _ in range(2000):
    crowd.append(b"x" * 20_000)
    kept.append(b"x" * 1_000)
del crowd
async def main():
    task = asyncio.create_task(heap.release_regularly())
    for _ in range(500):
        await asyncio.sleep(0.01)
        if resident() - before < 20 << 20:
            break
    task.cancel()
asyncio.run(main())
print((resident() - before) >> 20)
"""


def _printed(script: str) -> float:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=50)
    assert done.stderr == ""
    return float(done.stdout)


def test_a_million_objects_read_at_once_are_not_collected_in_one_step() -> None:
    assert _printed(_PAUSES) < 0.04, "with other thresholds it takes 0.1 s and more"


def test_large_blocks_are_given_back_when_they_are_freed() -> None:
    assert _printed(_KEPT) < 20, "without a bound, 45 MiB stay"


def test_memory_between_blocks_in_use_is_given_back_regularly() -> None:
    assert _printed(_PIECES) < 20, "otherwise 40 MiB stay"
