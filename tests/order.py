"""The order of test files in a run on several workers: those that take longest first.

A worker runs whole files (`--dist loadfile`). A long file that comes last would keep one worker busy while the others
have nothing left. Files that are not listed here come by their size.
"""

from __future__ import annotations

from pathlib import Path

import pytest

_TESTS = Path(__file__).parent

LONG = (
    "operators/contracts/test_scenarios.py",
    "operators/images/test_live.py",
    "operators/images/test_scenarios.py",
    "operators/images/test_pulls.py",
    "operators/images/test_races.py",
    "operators/images/test_crashes.py",
    "docs/test_sync.py",
    "docs/test_plugin_tutorial.py",
    "replicas/test_loss.py",
    "web/dashboard/test_browser.py",
    "web/actions/test_openapi.py",
    "cli/operators/test_rbac_rest.py",
    "runtime/test_operator_faults.py",
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
    "docs/test_images.py",
    "docs/test_tutorial.py",
    "docs/test_contracts.py",
    "consistency/test_http.py",
    "consistency/test_consistency.py",
    "replicas/test_outage.py",
    "cluster/test_resources.py",
    "cluster/test_faults.py",
    "operators/images/pulls/test_propose.py",
    "operators/images/test_workloads.py",
    "operators/actions/test_controllers.py",
    "external/git/test_cache.py",
    "benchmarks/test_soak.py",
    "fuzz/test_openapi.py",
    "fuzz/test_memory.py",
    "external/git/test_push.py",
    "operators/sync/operator/test_scenarios.py",
    "operators/sync/operator/test_plane.py",
    "operators/sync/operator/test_hostile.py",
    "operators/sync/operator/test_dependencies.py",
    "operators/sync/test_help.py",
    "runtime/test_processes.py",
    "operators/images/test_notifications.py",
    "server/request/test_large_calls.py",
    "clients/test_kopf.py",
    "docs/test_actions.py",
    "docs/test_migration.py",
    "test_durability.py",
    "replicas/test_guards.py",
    "replicas/test_documented.py",
    "operators/images/test_trust.py",
)
_RANK = {_TESTS / name: rank for rank, name in enumerate(LONG)}


def longest_first(items: list[pytest.Item]) -> None:
    """Sorts by file; the tests of a file keep their order."""
    sizes = {path: path.stat().st_size for path in {item.path for item in items}}
    items.sort(key=lambda item: (_RANK.get(item.path, len(LONG)), -sizes[item.path], str(item.path)))
