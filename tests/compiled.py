"""Test files are compiled once in a run on several workers.

pytest rewrites the assertions of a test file when it imports it, and keeps the result beside the file. Every worker
imports every file. In the same order each would rewrite them all at the same time; so each imports a share of its own
first, and finds the rest done.
"""

from __future__ import annotations

import os
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest

_TESTS = Path(__file__).parent


def compile_share(config: pytest.Config) -> None:
    """Does nothing in a run on one worker or of chosen folders."""
    count, name = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")), os.environ.get("PYTEST_XDIST_WORKER", "")
    if count == 1 or not name.startswith("gw") or config.args != config.getini("testpaths"):
        return
    for path in sorted(_TESTS.rglob("test_*.py"))[int(name[2:]) :: count]:
        # What cannot be imported is reported where it is collected.
        with suppress(Exception, pytest.skip.Exception):
            import_module(".".join(path.relative_to(_TESTS.parent).with_suffix("").parts))
