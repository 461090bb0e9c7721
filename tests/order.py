"""The order of test files in a run on several workers: those that take longest first, some of them on one worker.

A worker runs whole files (`--dist loadfile`). A long file that comes last would keep one worker busy while the others
have nothing left. Files that are not listed here come by their size.

Files that share what is expensive to start run one after the other on one worker, so that it is started once in a run:
those that use a real cluster, and folders with fixtures of the scope `package`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

_TESTS = Path(__file__).parent

# A file that uses the cluster and is missing here starts another one: 3 s of CPU, and 1 s for each minute after.
TOGETHER = {
    "cluster": (
        "cluster",
        "differential",
        "cli/doctor/test_doctor.py",
        "cli/operators/test_deploy.py",
        "cli/operators/test_rbac.py",
        "cli/operators/test_rbac_rest.py",
        "cli/policy/test_deploy.py",
        "cli/policy/test_roles.py",
        "client/test_burst.py",
        "client/test_discovery.py",
        "client/test_projection.py",
        "operators/actions/test_postgres_cluster.py",
        "operators/actions/types/test_versions.py",
        "operators/contracts/test_optional.py",
        "operators/contracts/test_live.py",
        "operators/contracts/test_scenarios.py",
        "operators/images/test_scenarios.py",
        "operators/images/test_workloads.py",
        "operators/policy/test_live.py",
        "operators/policy/test_live_changes.py",
        "operators/policy/test_live_cluster.py",
        "operators/policy/test_live_enforcement.py",
        "operators/policy/test_live_leadership.py",
        "operators/policy/test_live_metrics.py",
        "operators/policy/test_live_records.py",
        "operators/sync/operator/test_admission.py",
        "operators/sync/operator/test_dependencies.py",
        "operators/sync/operator/test_plane.py",
        "operators/sync/operator/test_records.py",
        "operators/sync/operator/test_scenarios.py",
        "operators/sync/operator/test_vault.py",
        "packaging/test_chart_live.py",
        "packaging/test_kustomize.py",
        "runtime/cache/test_unreadable.py",
        "runtime/control/test_controller.py",
        "web/admission/test_api.py",
        "web/identity/test_beside.py",
    ),
    "replicas": ("replicas",),
    "resource": ("cli/resource",),
    "fuzz": ("fuzz",),
}
LONG = (
    "operators/actions/test_kill.py",
    "server/request/test_large_calls.py",
    "operators/images/test_crashes.py",
    "web/dashboard/objects/test_browser.py",
    "operators/images/test_pulls.py",
    "docs/test_sync.py",
    "operators/images/pulls/test_propose.py",
    "web/dashboard/test_browser.py",
    "web/dashboard/test_operator_pages.py",
    "operators/contracts/test_scenarios.py",
    "external/git/test_push.py",
    "differential/test_lifecycle.py",
    "operators/actions/inputs/plugins/test_amqp.py",
    "cli/operators/test_run.py",
    "kubectl/test_workloads.py",
    "docs/test_plugin_tutorial.py",
    "cli/image/test_crash.py",
    "differential/test_commands.py",
    "operators/images/test_scenarios.py",
    "docs/test_words.py",
    "replicas/test_outage.py",
    "cluster/test_housekeeping.py",
    "web/dashboard/test_demo.py",
    "web/dashboard/test_reach.py",
    "cli/demo/test_demo.py",
    "external/git/test_cache.py",
    "kubectl/test_custom.py",
    "operators/sync/operator/test_vault.py",
    "operators/contracts/test_live.py",
    "operators/images/test_races.py",
    "server/kinds/builtins/test_any_json.py",
    "cli/plane/test_up.py",
    "operators/sync/operator/test_scenarios.py",
    "kubectl/test_get.py",
    "docs/test_contracts.py",
    "replicas/test_loss.py",
    "docs/test_actions.py",
    "objects/json/test_pieces.py",
    "runtime/control/test_controller.py",
    "cli/completion/test_completion.py",
    "kubectl/test_change.py",
    "replicas/test_any_replica.py",
    "docs/test_inputs.py",
    "docs/test_examples.py",
    "operators/images/test_workloads.py",
    "operators/sync/operator/test_hostile.py",
    "operators/policy/test_live.py",
    "operators/policy/test_live_enforcement.py",
    "store/test_subscribe.py",
    "replicas/test_refusals.py",
    "operators/images/test_trust.py",
    "operators/policy/test_live_changes.py",
    "operators/images/test_bad_input.py",
    "kubectl/test_errors.py",
    "cli/image/test_image.py",
    "architecture/test_layers.py",
    "edge/tls/test_listener.py",
    "operators/sync/test_golden.py",
    "operators/actions/inputs/plugins/test_git.py",
    "operators/sync/operator/test_dependencies.py",
    "objects/schema/test_validate.py",
    "edge/test_server.py",
    "fuzz/test_openapi.py",
    "external/git/test_access.py",
    "operators/actions/inputs/test_kill.py",
    "web/actions/test_resume.py",
    "differential/test_answers.py",
    "operators/images/test_live.py",
    "cli/contract/test_commands.py",
    "architecture/test_names.py",
    "store/backup/test_kill.py",
    "cli/resource/test_show.py",
    "cli/operators/test_rbac.py",
    "store/test_list.py",
    "benchmarks/test_soak.py",
    "web/actions/test_blocking.py",
    "external/git/test_repository.py",
    "operators/actions/plugins/test_github_actions.py",
    "fuzz/test_types.py",
    "web/dashboard/test_hostile.py",
    "cli/policy/test_live.py",
    "store/test_failover.py",
    "fuzz/test_memory.py",
    "docs/test_images.py",
    "packaging/test_kustomize.py",
    "cli/objects/test_edit.py",
    "web/dashboard/test_pages.py",
    "operators/contracts/sources/test_registry.py",
    "cel/test_oracle.py",
    "cli/plan/test_plan.py",
    "fuzz/test_blocking.py",
    "kubectl/test_apply.py",
    "cli/plane/test_backup.py",
    "packaging/test_chart_live.py",
    "packaging/test_releases.py",
    "programs/test_comparison.py",
    "programs/test_helm.py",
    "programs/test_controllers.py",
    "programs/test_operators.py",
    "cli/doctor/test_doctor.py",
    "cluster/test_resources.py",
    "web/actions/pages/test_types.py",
    "kubectl/test_delete.py",
    "kubectl/test_create.py",
    "operators/actions/types/test_versions.py",
    "operators/housekeeping/test_collection.py",
    "client/test_projection.py",
    "runtime/test_operator_faults.py",
    "cli/operators/test_rbac_rest.py",
    "kubectl/test_types.py",
    "cli/objects/test_objects.py",
    "docs/test_session.py",
    "cluster/test_faults.py",
    "docs/test_cli.py",
    "store/backup/test_backup.py",
    "docs/test_testing.py",
    "operators/sync/operator/test_connections.py",
    "cli/operators/test_deploy.py",
    "operators/images/test_notifications.py",
    "objects/schema/test_cost.py",
    "web/actions/test_openapi.py",
    "store/test_replicas.py",
    "store/test_rollback.py",
    "cli/resource/test_logs.py",
    "docs/test_migration.py",
    "kubectl/test_certificates.py",
    "kubectl/test_nodes.py",
    "operators/sync/operator/test_plane.py",
    "external/vault/test_real.py",
    "operators/actions/test_controllers.py",
    "consistency/test_consistency.py",
    "store/test_outage.py",
    "store/test_compaction.py",
    "test_durability.py",
    "store/test_postgres.py",
    "docs/test_tutorial.py",
    "operators/policy/test_live_cluster.py",
    "web/admission/test_policy_webhook.py",
    "kubectl/test_describe.py",
    "server/admission/webhooks/test_calls.py",
    "runtime/test_replicas.py",
    "operators/housekeeping/test_faults.py",
    "web/documentation/test_site.py",
    "web/actions/events/test_pages.py",
    "clients/test_kopf.py",
    "cli/contract/test_recorded.py",
    "consistency/test_http.py",
    "kubectl/test_server_side_apply.py",
    "web/actions/test_no8s.py",
    "operators/policy/test_live_records.py",
)
_RANK = {_TESTS / name: rank for rank, name in enumerate(LONG)}
_GROUPS = {_TESTS / name: group for group, names in TOGETHER.items() for name in names}


@cache
def group_of(path: Path) -> str | None:
    """Of a file that is listed, or whose folder is."""
    return next((_GROUPS[each] for each in (path, *path.parents) if each in _GROUPS), None)


def longest_first(items: list[pytest.Item]) -> None:
    """Sorts by group and file; the tests of a file keep their order."""
    sizes = {path: path.stat().st_size for path in {item.path for item in items}}
    groups = [*TOGETHER, None]
    items.sort(
        key=lambda item: (
            groups.index(group_of(item.path)),
            _RANK.get(item.path, len(LONG)),
            -sizes[item.path],
            str(item.path),
        )
    )


def is_whole(config: pytest.Config) -> bool:
    """Whether everything is run, and nobody has named files; a worker is told by the process that starts it."""
    worker: dict[str, object] = getattr(config, "workerinput", {})
    return bool(worker.get("is_whole", config.args_source is pytest.Config.ArgsSource.TESTPATHS))


class GroupedFiles(LoadFileScheduling):  # type: ignore[misc]
    """Gives a file to one worker, and the files of a group to the same one."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return group_of(self.config.rootpath / file) or file
