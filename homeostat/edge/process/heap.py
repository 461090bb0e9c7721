"""The memory of a process that runs for long: garbage is collected in short steps, and freed memory is given back.

The garbage collector stops everything while it runs, for some 0.2 microseconds an object. So it looks at few objects at
a time, and never again at those that exist when the process has started. The allocator of glibc adapts to the largest
blocks that it has seen and then keeps as much, in pieces between smaller blocks; a fixed bound keeps large blocks, such
as request bodies, out of there.
"""

from __future__ import annotations

import gc
from contextlib import suppress

_THRESHOLDS = (10_000, 5, 1_000)
"""Of objects that may be garbage. Young ones take 2 ms, those that survived for a while up to 20 ms. With 50,000 and
20, one step took 300 ms while 100,000 objects were read, and all of them together no less CPU."""
_ARENA_MAX, _MMAP_THRESHOLD, _TRIM_THRESHOLD = -8, -3, -1
_ALLOCATOR = ((_ARENA_MAX, 2), (_MMAP_THRESHOLD, 256 * 1024), (_TRIM_THRESHOLD, 1024 * 1024))
"""Options of `mallopt`: all threads share two pools, blocks of 256 KiB and more (bodies, batches of lists, buffers of
the event loop) are given back when they are freed, and so is the end of a pool from 1 MiB on."""


def collect_in_short_steps() -> None:
    gc.set_threshold(*_THRESHOLDS)


def settle_heap() -> None:
    """Call it when the process has started."""
    # Not collected before: that takes 30 ms, and finds a thousand small objects.
    gc.freeze()
    bound_allocator()


def bound_allocator() -> bool:
    """Whether there is a glibc to tell."""
    with suppress(ImportError, OSError, AttributeError):
        import ctypes

        mallopt = ctypes.CDLL(None).mallopt
        return all(mallopt(*each) for each in _ALLOCATOR)
    return False
