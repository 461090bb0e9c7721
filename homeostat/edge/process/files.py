"""The number of files that this process may open: every connection is one.

The usual limit of 1,024 is meant for programs that use `select`; each process may raise it up to a hard limit.
"""

from __future__ import annotations

import resource
from contextlib import suppress

MOST_FILES = 65_536
"""More are not asked for: some programs that inherit the limit try to close every file up to it."""


def file_limit() -> int:
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MOST_FILES if soft == resource.RLIM_INFINITY else soft


def raise_file_limit() -> None:
    """Allow this process as many files as it may have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
