"""Test files are compiled once in a run on several workers, and the package is not compiled again for pytest.

pytest rewrites the assertions of a test file when it imports it, and keeps the result beside the file. Every worker
imports every file. In the same order each would rewrite them all at the same time; so each imports a share of its own
first, and finds the rest done. The package brings a plugin of pytest, so pytest would rewrite all of its modules too.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest
from _pytest.assertion.rewrite import AssertionRewritingHook

_TESTS = Path(__file__).parent


def leave_package_as_it_is() -> None:
    """Before anything imports it: its own assertions state what cannot happen, and need no explanation."""
    for finder in sys.meta_path:
        if isinstance(finder, AssertionRewritingHook):
            finder._must_rewrite.discard("homeostat")
            finder._marked_for_rewrite_cache.clear()


def compile_share(config: pytest.Config) -> None:
    """Does nothing in a run on one worker or of chosen folders."""
    count, name = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")), os.environ.get("PYTEST_XDIST_WORKER", "")
    if count == 1 or not name.startswith("gw") or config.args != config.getini("testpaths"):
        return
    for path in sorted(_TESTS.rglob("test_*.py"))[int(name[2:]) :: count]:
        # What cannot be imported is reported where it is collected.
        with suppress(Exception, pytest.skip.Exception):
            import_module(".".join(path.relative_to(_TESTS.parent).with_suffix("").parts))
