"""`python -m benchmarks.soak`: the same as `python -m benchmarks soak`."""

from __future__ import annotations

from benchmarks.__main__ import soak

if __name__ == "__main__":
    soak()
