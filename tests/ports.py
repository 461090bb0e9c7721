"""Ports for servers that must know theirs before they start, or keep it over restarts.

They are below what the kernel gives to clients, and each worker of a test run has a range of its own: nobody takes
one between its choice and its use. A server that can say where it listens is given 0 instead.
"""

from __future__ import annotations

import os
import random
import socket

_FIRST, _PER_WORKER, _WORKERS = 12_000, 1_200, 16
_given: set[int] = set()


def free_port() -> int:
    """One that this process has not given before."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % _WORKERS
    start = _FIRST + worker * _PER_WORKER
    candidates = [each for each in range(start, start + _PER_WORKER) if each not in _given]
    random.shuffle(candidates)
    for port in candidates:
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        _given.add(port)
        return port
    raise RuntimeError(f"no free port from {start} to {start + _PER_WORKER}")
