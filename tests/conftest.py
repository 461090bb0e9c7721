"""For all tests: a process that runs away in memory fails by itself and does not take the machine with it."""

from __future__ import annotations

import resource

_MOST_BYTES = 8 << 30


def pytest_configure() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = _MOST_BYTES if hard == resource.RLIM_INFINITY else min(_MOST_BYTES, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
