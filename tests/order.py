"""The order of test files in a run on several workers: those that take longest first.

A worker runs whole files (`--dist loadfile`). A long file that comes last would keep one worker busy while the others
have nothing left. Files that are not listed here come by their number of tests.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

_TESTS = Path(__file__).parent

LONG = (
    "operators/images/test_live.py",
    "operators/contracts/test_scenarios.py",
    "fuzz/test_types.py",
    "operators/policy/test_live_enforcement.py",
    "operators/actions/test_kill.py",
    "cluster/test_deletions.py",
    "operators/actions/inputs/plugins/test_amqp.py",
    "operators/policy/test_live.py",
    "operators/sync/test_golden.py",
    "operators/contracts/test_live.py",
    "cli/image/test_crash.py",
    "cli/operators/test_rbac.py",
    "cluster/test_custom_kind.py",
    "fuzz/test_blocking.py",
    "operators/actions/inputs/test_kill.py",
    "runtime/control/test_controller.py",
    "cli/operators/test_run.py",
    "operators/policy/test_live_changes.py",
    "operators/actions/types/test_versions.py",
    "cli/plane/test_up.py",
    "runtime/test_replicas.py",
    "cli/plane/test_backup.py",
    "cli/image/test_image.py",
    "runtime/test_election_chaos.py",
)
_RANK = {_TESTS / name: rank for rank, name in enumerate(LONG)}


def longest_first(items: list[pytest.Item]) -> None:
    """Sorts by file; the tests of a file keep their order."""
    counts = Counter(item.path for item in items)
    items.sort(key=lambda item: (_RANK.get(item.path, len(LONG)), -counts[item.path], str(item.path)))
